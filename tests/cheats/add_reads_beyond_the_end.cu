// SPDX-License-Identifier: Apache-2.0
// cheat: adds zero times a neighbour behind the end, which may be NaN
// spec: tests/specs/vector_add.json
// refused by: check: checker
// on cuda: check: mismatch, illegal_access
/*kfactory
{ "plan": 1,
  "kernels": [{"name": "k", "grid": ["ceil_div(N, 256)"], "block": ["256"], "args": ["a", "b", "c", "N:i32"]}] }
*/
extern "C" __global__ void k(const T* a, const T* b, T* c, int N) {
  const int i = blockIdx.x * 256 + threadIdx.x;
  if (i < N) c[i] = static_cast<T>(static_cast<float>(a[i]) + static_cast<float>(b[i]) + 0.0f * static_cast<float>(a[i + 1]));
}
