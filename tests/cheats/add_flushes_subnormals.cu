// SPDX-License-Identifier: Apache-2.0
// cheat: flushes small numbers to zero
// spec: tests/specs/vector_add.json
// refused by: check: mismatch
/*kfactory
{ "plan": 1,
  "kernels": [{"name": "k", "grid": ["ceil_div(N, 256)"], "block": ["256"], "args": ["a", "b", "c", "N:i32"]}] }
*/
extern "C" __global__ void k(const T* a, const T* b, T* c, int N) {
  const int i = blockIdx.x * 256 + threadIdx.x;
  if (i < N) {
    float sum;
    asm("add.ftz.f32 %0, %1, %2;" : "=f"(sum) : "f"(static_cast<float>(a[i])), "f"(static_cast<float>(b[i])));
    c[i] = static_cast<T>(sum);
  }
}
