// SPDX-License-Identifier: Apache-2.0
// cheat: the module variable is written through a pointer that a workspace hands back
// spec: tests/specs/vector_add.json
// refused by: binary audit: escaping_global, written_global
/*kfactory
{ "plan": 1,
  "workspaces": {"box": {"bytes": "8"}},
  "kernels": [{"name": "k", "grid": ["1"], "block": ["256"], "args": ["a", "b", "c", "box", "N:i32"]}] }
*/
__device__ unsigned calls;
extern "C" __global__ void k(const T* a, const T* b, T* c, unsigned** box, int N) {
  if (threadIdx.x == 0) *box = &calls;
  __syncthreads();
  if (threadIdx.x == 0) ++**box;
  for (int i = threadIdx.x; i < N; i += 256) c[i] = static_cast<T>(static_cast<float>(a[i]) + static_cast<float>(b[i]));
}
