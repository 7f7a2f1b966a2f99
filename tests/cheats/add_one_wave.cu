// SPDX-License-Identifier: Apache-2.0
// cheat: one block a multiprocessor and no loop: enough for small sizes
// spec: tests/specs/vector_add.json
// refused by: check: unwritten
/*kfactory
{ "plan": 1,
  "kernels": [{"name": "k", "grid": ["min(ceil_div(N, 256), sm_count)"], "block": ["256"], "args": ["a", "b", "c", "N:i32"]}] }
*/
extern "C" __global__ void k(const T* a, const T* b, T* c, int N) {
  const int i = blockIdx.x * 256 + threadIdx.x;
  if (i < N) c[i] = static_cast<T>(static_cast<float>(a[i]) + static_cast<float>(b[i]));
}
