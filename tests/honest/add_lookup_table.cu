// SPDX-License-Identifier: Apache-2.0
// honest: read-only tables in module memory: a .nv.global that nobody writes
// spec: tests/specs/vector_add.json
/*kfactory
{ "plan": 1,
  "kernels": [{"name": "k", "grid": ["ceil_div(N, 256)"], "block": ["256"], "args": ["a", "b", "c", "N:i32"]}] }
*/
__constant__ int order[4] = {2, 0, 3, 1};
__device__ const int back[4] = {1, 3, 0, 2};
extern "C" __global__ void k(const T* a, const T* b, T* c, int N) {
  const int lane = threadIdx.x & ~3 | back[order[threadIdx.x & 3]];
  const int i = blockIdx.x * 256 + lane;
  if (i < N) c[i] = static_cast<T>(static_cast<float>(a[i]) + static_cast<float>(b[i]));
}
