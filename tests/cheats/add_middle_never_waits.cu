// SPDX-License-Identifier: Apache-2.0
// cheat: of three kernels with programmatic dependent launch the middle one never waits, so that the last one's wait does not reach the first
// spec: tests/specs/vector_add.json
// refused by: check: checker
// says: never executes griddepcontrol.wait
// on cuda: check: mismatch
// on cuda it may run right by chance: the first kernel may have ended before
/*kfactory
{ "plan": 1,
  "workspaces": {"left": {"bytes": "4 * N"}},
  "kernels": [{"name": "widen", "grid": ["ceil_div(N, 256)"], "block": ["256"], "args": ["a", "left", "N:i32"]},
              {"name": "keep", "grid": ["ceil_div(N, 256)"], "block": ["256"], "args": ["b", "c", "N:i32"], "launch": {"pdl": true}},
              {"name": "sum", "grid": ["ceil_div(N, 256)"], "block": ["256"], "args": ["left", "c", "N:i32"], "launch": {"pdl": true}}] }
*/
extern "C" __global__ void widen(const T* from, float* to, int N) {
  asm volatile("griddepcontrol.launch_dependents;" ::: "memory");
  const int i = blockIdx.x * 256 + threadIdx.x;
  if (i < N) to[i] = static_cast<float>(from[i]);
}
extern "C" __global__ void keep(const T* from, T* to, int N) {
  asm volatile("griddepcontrol.launch_dependents;" ::: "memory");
  const int i = blockIdx.x * 256 + threadIdx.x;
  if (i < N) to[i] = from[i];
}
extern "C" __global__ void sum(const float* left, T* c, int N) {
  asm volatile("griddepcontrol.wait;" ::: "memory");
  const int i = blockIdx.x * 256 + threadIdx.x;
  if (i < N) c[i] = static_cast<T>(left[i] + static_cast<float>(c[i]));
}
