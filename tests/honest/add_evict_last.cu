// SPDX-License-Identifier: Apache-2.0
// honest: a cache policy on loads: legal, the flush-survival measurement judges its effect
// spec: tests/specs/vector_add.json
/*kfactory
{ "plan": 1,
  "kernels": [{"name": "k", "grid": ["ceil_div(N, 256)"], "block": ["256"], "args": ["a", "b", "c", "N:i32"]}] }
*/
__device__ float load(const T* from, unsigned long long policy) {
  if constexpr (sizeof(T) == 4) {
    float value;
    asm volatile("ld.global.L2::cache_hint.f32 %0, [%1], %2;" : "=f"(value) : "l"(from), "l"(policy));
    return value;
  } else {
    unsigned short bits;
    asm volatile("ld.global.L2::cache_hint.u16 %0, [%1], %2;" : "=h"(bits) : "l"(from), "l"(policy));
    return __uint_as_float(static_cast<unsigned>(bits) << 16);
  }
}
extern "C" __global__ void k(const T* a, const T* b, T* c, int N) {
  const int i = blockIdx.x * 256 + threadIdx.x;
  unsigned long long policy;
  asm volatile("createpolicy.fractional.L2::evict_last.b64 %0, 1.0;" : "=l"(policy));
  if (i < N) {
    c[i] = static_cast<T>(load(a + i, policy) + load(b + i, policy));
  }
}
