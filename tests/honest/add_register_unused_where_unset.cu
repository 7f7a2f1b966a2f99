// SPDX-License-Identifier: Apache-2.0
// honest: registers, predicates and addresses that are set on one path, and never used on the other
// spec: tests/specs/vector_add.json
/*kfactory
{ "plan": 1,
  "kernels": [{"name": "k", "grid": ["ceil_div(N, 128)"], "block": ["128"], "args": ["a", "b", "c", "N:i32"]}] }
*/
__device__ __noinline__ float pick(float sum, float product, int odd) {
  float picked;
  asm volatile("{ .reg .pred p; .reg .f32 t; setp.ne.s32 p, %3, 0; @p add.f32 t, %1, %2; add.f32 t, t, 0f00000000; selp.f32 %0, t, %1, p; }"
               : "=f"(picked) : "f"(sum), "f"(product), "r"(odd));
  return picked;
}
extern "C" __global__ void k(const T* a, const T* b, T* c, int N) {
  const int i = blockIdx.x * 128 + threadIdx.x;
  float x = 0.0f, y = 0.0f;
  // The address is made in every thread, of nothing where i >= N; only the others load.
  unsigned left, right;
  asm volatile("{ .reg .pred in; .reg .b64 p; .reg .b32 at; setp.lt.s32 in, %1, %2; @in mov.u32 at, %1; mul.wide.u32 p, at, 4; cvt.u32.u64 %0, p; }"
               : "=r"(left) : "r"(i), "r"(N));
  right = left / 4;
  if (i < N) x = static_cast<float>(a[right]), y = static_cast<float>(b[right]);
  const float sum = pick(x + y, 0.0f, i & 1);
  if (i < N) c[i] = static_cast<T>(sum);
}
