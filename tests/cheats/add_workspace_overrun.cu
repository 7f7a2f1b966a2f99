// SPDX-License-Identifier: Apache-2.0
// cheat: one element more than the workspace has
// spec: tests/specs/vector_add.json
// refused by: check: checker
// on cuda: check: red_zone, illegal_access
/*kfactory
{ "plan": 1,
  "workspaces": {"part": {"bytes": "4 * N"}},
  "kernels": [{"name": "k", "grid": ["1"], "block": ["256"], "args": ["a", "b", "c", "part", "N:i32"]}] }
*/
extern "C" __global__ void k(const T* a, const T* b, T* c, float* part, int N) {
  for (int i = threadIdx.x; i <= N; i += 256) part[i] = 1.0f;
  for (int i = threadIdx.x; i < N; i += 256) c[i] = static_cast<T>(static_cast<float>(a[i]) + static_cast<float>(b[i]));
}
