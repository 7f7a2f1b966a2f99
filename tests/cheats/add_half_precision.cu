// SPDX-License-Identifier: Apache-2.0
// cheat: float32 is added as bfloat16
// spec: tests/specs/vector_add.json
// refused by: check: mismatch
/*kfactory
{ "plan": 1,
  "kernels": [{"name": "k", "grid": ["ceil_div(N, 256)"], "block": ["256"], "args": ["a", "b", "c", "N:i32"]}] }
*/
__device__ float cut(float value) { return __uint_as_float(__float_as_uint(value) & 0xffff0000u); }
extern "C" __global__ void k(const T* a, const T* b, T* c, int N) {
  const int i = blockIdx.x * 256 + threadIdx.x;
  if (i < N) c[i] = static_cast<T>(cut(cut(static_cast<float>(a[i])) + cut(static_cast<float>(b[i]))));
}
