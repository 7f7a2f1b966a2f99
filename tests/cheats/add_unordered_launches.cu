// SPDX-License-Identifier: Apache-2.0
// cheat: two kernels that the plan lets run at the same time, one of which reads what the other writes
// spec: tests/specs/vector_add.json
// refused by: check: checker
// says: race between launches
// on cuda: check: mismatch, unwritten
// on cuda it may run right by chance: the first kernel may have ended before
/*kfactory
{ "plan": 1,
  "workspaces": {"part": {"bytes": "4 * N"}},
  "kernels": [{"name": "widen", "grid": ["ceil_div(N, 256)"], "block": ["256"], "args": ["a", "part", "N:i32"]},
              {"name": "sum", "grid": ["ceil_div(N, 256)"], "block": ["256"], "args": ["part", "b", "c", "N:i32"], "after": []}] }
*/
extern "C" __global__ void widen(const T* a, float* part, int N) {
  const int i = blockIdx.x * 256 + threadIdx.x;
  if (i < N) part[i] = static_cast<float>(a[i]);
}
extern "C" __global__ void sum(const float* part, const T* b, T* c, int N) {
  const int i = blockIdx.x * 256 + threadIdx.x;
  if (i < N) c[i] = static_cast<T>(part[i] + static_cast<float>(b[i]));
}
