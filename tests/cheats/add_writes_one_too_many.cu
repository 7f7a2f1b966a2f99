// SPDX-License-Identifier: Apache-2.0
// cheat: no bounds check: the last block writes behind the end
// spec: tests/specs/vector_add.json
// refused by: check: checker
// on cuda: check: red_zone, illegal_access
/*kfactory
{ "plan": 1,
  "kernels": [{"name": "k", "grid": ["ceil_div(N, 256)"], "block": ["256"], "args": ["a", "b", "c", "N:i32"]}] }
*/
extern "C" __global__ void k(const T* a, const T* b, T* c, int N) {
  const int i = blockIdx.x * 256 + threadIdx.x;
  const int from = i < N ? i : N - 1;
  c[i] = static_cast<T>(static_cast<float>(a[from]) + static_cast<float>(b[from]));
}
