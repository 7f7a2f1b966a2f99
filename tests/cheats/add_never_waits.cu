// SPDX-License-Identifier: Apache-2.0
// cheat: a dependent launch that never executes griddepcontrol.wait
// spec: tests/specs/vector_add.json
// refused by: check: checker
// says: has not met griddepcontrol.wait
// on cuda: check: mismatch
// on cuda it may run right by chance: the first kernel may have ended before
/*kfactory
{ "plan": 1,
  "workspaces": {"part": {"bytes": "4 * N"}},
  "kernels": [{"name": "widen", "grid": ["ceil_div(N, 256)"], "block": ["256"], "args": ["a", "part", "N:i32"]},
              {"name": "sum", "grid": ["ceil_div(N, 256)"], "block": ["256"], "args": ["part", "b", "c", "N:i32"], "launch": {"pdl": true}}] }
*/
extern "C" __global__ void widen(const T* a, float* part, int N) {
  asm volatile("griddepcontrol.launch_dependents;" ::: "memory");
  const int i = blockIdx.x * 256 + threadIdx.x;
  if (i < N) part[i] = static_cast<float>(a[i]);
}
extern "C" __global__ void sum(const float* part, const T* b, T* c, int N) {
  const int i = blockIdx.x * 256 + threadIdx.x;
  if (i < N) c[i] = static_cast<T>(part[i] + static_cast<float>(b[i]));
}
