// SPDX-License-Identifier: Apache-2.0
// honest: two kernels with programmatic dependent launch, and a wait in the second
// spec: tests/specs/vector_add.json
/*kfactory
{ "plan": 1,
  "workspaces": {"part": {"bytes": "4 * N"}},
  "kernels": [{"name": "widen", "grid": ["ceil_div(N, 256)"], "block": ["256"], "args": ["a", "part", "N:i32"]},
              {"name": "sum", "grid": ["ceil_div(N, 256)"], "block": ["256"], "args": ["part", "b", "c", "N:i32"], "launch": {"pdl": true}}] }
*/
extern "C" __global__ void widen(const T* a, float* part, int N) {
  asm volatile("griddepcontrol.launch_dependents;");
  const int i = blockIdx.x * 256 + threadIdx.x;
  if (i < N) part[i] = static_cast<float>(a[i]);
}
extern "C" __global__ void sum(const float* part, const T* b, T* c, int N) {
  const int i = blockIdx.x * 256 + threadIdx.x;
  const float right = i < N ? static_cast<float>(b[i]) : 0.0f;  // an input of the whole plan may be read early
  asm volatile("griddepcontrol.wait;" ::: "memory");
  if (i < N) c[i] = static_cast<T>(part[i] + right);
}
