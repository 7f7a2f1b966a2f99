// SPDX-License-Identifier: Apache-2.0
// cheat: lives inside a matched ratio: the last hundredth is left out
// spec: tests/specs/vector_add.json
// refused by: check: unwritten
/*kfactory
{ "plan": 1,
  "kernels": [{"name": "k", "grid": ["ceil_div(N, 256)"], "block": ["256"], "args": ["a", "b", "c", "N:i32"]}] }
*/
extern "C" __global__ void k(const T* a, const T* b, T* c, int N) {
  const int i = blockIdx.x * 256 + threadIdx.x;
  if (i < N - N / 100) c[i] = static_cast<T>(static_cast<float>(a[i]) + static_cast<float>(b[i]));
}
