// SPDX-License-Identifier: Apache-2.0
// cheat: reads a workspace as if it were zeroed
// spec: tests/specs/vector_add.json
// refused by: check: checker
// on cuda: check: mismatch
/*kfactory
{ "plan": 1,
  "workspaces": {"zero": {"bytes": "4 * N"}},
  "kernels": [{"name": "k", "grid": ["ceil_div(N, 256)"], "block": ["256"], "args": ["a", "b", "c", "zero", "N:i32"]}] }
*/
extern "C" __global__ void k(const T* a, const T* b, T* c, const float* zero, int N) {
  const int i = blockIdx.x * 256 + threadIdx.x;
  if (i < N) c[i] = static_cast<T>(static_cast<float>(a[i]) + static_cast<float>(b[i]) + zero[i]);
}
