// SPDX-License-Identifier: Apache-2.0
// honest: a workspace full of poison that is written before it is read
// spec: tests/specs/vector_add.json
/*kfactory
{ "plan": 1,
  "workspaces": {"part": {"bytes": "4 * N"}},
  "kernels": [{"name": "k", "grid": ["ceil_div(N, 256)"], "block": ["256"], "args": ["a", "b", "c", "part", "N:i32"]}] }
*/
extern "C" __global__ void k(const T* a, const T* b, T* c, float* part, int N) {
  const int i = blockIdx.x * 256 + threadIdx.x;
  if (i < N) {
    part[i] = static_cast<float>(a[i]);
    c[i] = static_cast<T>(part[i] + static_cast<float>(b[i]));
  }
}
