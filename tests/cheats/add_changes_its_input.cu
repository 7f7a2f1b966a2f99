// SPDX-License-Identifier: Apache-2.0
// cheat: adds in place and copies
// spec: tests/specs/vector_add.json
// refused by: check: input_changed
/*kfactory
{ "plan": 1,
  "kernels": [{"name": "k", "grid": ["ceil_div(N, 256)"], "block": ["256"], "args": ["a", "b", "c", "N:i32"]}] }
*/
extern "C" __global__ void k(T* a, const T* b, T* c, int N) {
  const int i = blockIdx.x * 256 + threadIdx.x;
  if (i < N) c[i] = a[i] = static_cast<T>(static_cast<float>(a[i]) + static_cast<float>(b[i]));
}
