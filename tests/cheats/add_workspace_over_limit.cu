// SPDX-License-Identifier: Apache-2.0
// cheat: a workspace large enough to hold answers of many launches
// spec: tests/specs/vector_add.json
// refused by: plan: limits
/*kfactory
{ "plan": 1,
  "workspaces": {"memo": {"bytes": "2^30"}},
  "kernels": [{"name": "k", "grid": ["ceil_div(N, 256)"], "block": ["256"], "args": ["a", "b", "c", "memo", "N:i32"]}] }
*/
extern "C" __global__ void k(const T* a, const T* b, T* c, float* memo, int N) {
  const int i = blockIdx.x * 256 + threadIdx.x;
  if (i < N) c[i] = static_cast<T>(static_cast<float>(a[i]) + static_cast<float>(b[i]));
}
