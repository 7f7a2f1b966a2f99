// SPDX-License-Identifier: Apache-2.0
// honest: two kernels that may run at the same time share an input and write neighbouring elements; a third waits for both
// spec: tests/specs/vector_add.json
/*kfactory
{ "plan": 1,
  "workspaces": {"part": {"bytes": "sizeof(T) * N"}},
  "kernels": [{"id": "even", "name": "copy", "grid": ["ceil_div(N, 512)"], "block": ["256"], "args": ["a", "part", "0:i32", "N:i32"]},
              {"id": "odd", "name": "copy", "grid": ["ceil_div(N, 512)"], "block": ["256"], "args": ["a", "part", "1:i32", "N:i32"], "after": []},
              {"name": "sum", "grid": ["ceil_div(N, 256)"], "block": ["256"], "args": ["part", "b", "c", "N:i32"], "after": ["even", "odd"]}] }
*/
extern "C" __global__ void copy(const T* a, T* part, int which, int N) {
  const int i = 2 * (blockIdx.x * 256 + threadIdx.x) + which;
  if (i < N) part[i] = a[i];
}
extern "C" __global__ void sum(const T* part, const T* b, T* c, int N) {
  const int i = blockIdx.x * 256 + threadIdx.x;
  if (i < N) c[i] = static_cast<T>(static_cast<float>(part[i]) + static_cast<float>(b[i]));
}
