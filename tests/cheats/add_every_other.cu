// SPDX-License-Identifier: Apache-2.0
// cheat: half of the elements are left to an earlier launch
// spec: tests/specs/vector_add.json
// refused by: check: unwritten
/*kfactory
{ "plan": 1,
  "kernels": [{"name": "k", "grid": ["ceil_div(N, 256)"], "block": ["256"], "args": ["a", "b", "c", "N:i32"]}] }
*/
extern "C" __global__ void k(const T* a, const T* b, T* c, int N) {
  const int i = blockIdx.x * 256 + threadIdx.x;
  if (i < N && i % 2 == 1) c[i] = static_cast<T>(static_cast<float>(a[i]) + static_cast<float>(b[i]));
}
