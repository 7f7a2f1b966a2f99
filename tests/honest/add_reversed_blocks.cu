// SPDX-License-Identifier: Apache-2.0
// honest: blocks in reverse order, by the id of the block
// spec: tests/specs/vector_add.json
/*kfactory
{ "plan": 1,
  "kernels": [{"name": "k", "grid": ["ceil_div(N, 64)"], "block": ["64"], "args": ["a", "b", "c", "N:i32"]}] }
*/
extern "C" __global__ void k(const T* a, const T* b, T* c, int N) {
  const int i = (gridDim.x - 1 - blockIdx.x) * 64 + threadIdx.x;
  if (i < N) c[i] = static_cast<T>(static_cast<float>(b[i]) + static_cast<float>(a[i]));
}
