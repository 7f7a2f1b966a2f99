// SPDX-License-Identifier: Apache-2.0
// cheat: counts launches in a workspace that promises to be zero again
// spec: tests/specs/vector_add.json
// refused by: check: workspace_not_restored
/*kfactory
{ "plan": 1,
  "workspaces": {"calls": {"bytes": "4", "init": "zero_restored"}},
  "kernels": [{"name": "k", "grid": ["ceil_div(N, 256)"], "block": ["256"], "args": ["a", "b", "c", "calls", "N:i32"]}] }
*/
extern "C" __global__ void k(const T* a, const T* b, T* c, unsigned* calls, int N) {
  const int i = blockIdx.x * 256 + threadIdx.x;
  if (i == 0) atomicAdd(calls, 1u);
  if (i < N) c[i] = static_cast<T>(static_cast<float>(a[i]) + static_cast<float>(b[i]));
}
