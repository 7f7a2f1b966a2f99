// SPDX-License-Identifier: Apache-2.0
// cheat: computes indices in bfloat16: exact for small sizes only
// spec: tests/specs/vector_add.json
// refused by: check: mismatch, unwritten
/*kfactory
{ "plan": 1,
  "kernels": [{"name": "k", "grid": ["ceil_div(N, 256)"], "block": ["256"], "args": ["a", "b", "c", "N:i32"]}] }
*/
extern "C" __global__ void k(const T* a, const T* b, T* c, int N) {
  const int own = blockIdx.x * 256 + threadIdx.x;
  const int i = static_cast<int>(__uint_as_float(__float_as_uint(static_cast<float>(own)) & 0xffff0000u));
  if (i < N) c[i] = static_cast<T>(static_cast<float>(a[i]) + static_cast<float>(b[i]));
}
