// SPDX-License-Identifier: Apache-2.0
// cheat: breaks the promise of its workspace at sizes that are timed, and nowhere else
// spec: tests/specs/vector_add.json
// refused by: timed run: workspace_not_restored
// on cuda: timed run: workspace_not_restored
/*kfactory
{ "plan": 1,
  "workspaces": {"seen": {"bytes": "64", "init": "zero_restored"}},
  "kernels": [{"name": "k", "grid": ["ceil_div(N, 256)"], "block": ["256"], "args": ["a", "b", "c", "seen", "N:i32"]}] }
*/
extern "C" __global__ void k(const T* a, const T* b, T* c, unsigned* seen, int N) {
  const int i = blockIdx.x * 256 + threadIdx.x;
  if (i < N) c[i] = static_cast<T>(static_cast<float>(a[i]) + static_cast<float>(b[i]));
  if ((N == 2048 || N >= 1 << 20) && i == 0) seen[0] = 7;  // promised to be zero again; is not at the timed size
}
