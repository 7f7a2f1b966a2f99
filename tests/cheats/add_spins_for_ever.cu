// SPDX-License-Identifier: Apache-2.0
// cheat: waits for a value that nobody writes
// spec: tests/specs/vector_add.json
// refused by: check: timeout, illegal_access
/*kfactory
{ "plan": 1,
  "workspaces": {"flag": {"bytes": "4", "init": "zero"}},
  "kernels": [{"name": "k", "grid": ["1"], "block": ["32"], "args": ["a", "b", "c", "flag", "N:i32"]}] }
*/
extern "C" __global__ void k(const T* a, const T* b, T* c, volatile unsigned* flag, int N) {
  while (*flag == 0) {
  }
  for (int i = threadIdx.x; i < N; i += 32) c[i] = static_cast<T>(static_cast<float>(a[i]) + static_cast<float>(b[i]));
}
