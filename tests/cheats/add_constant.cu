// SPDX-License-Identifier: Apache-2.0
// cheat: writes something, for a check that only looks whether something was written
// spec: tests/specs/vector_add.json
// refused by: check: mismatch
/*kfactory
{ "plan": 1,
  "kernels": [{"name": "k", "grid": ["ceil_div(N, 256)"], "block": ["256"], "args": ["c", "N:i32"]}] }
*/
extern "C" __global__ void k(T* c, int N) {
  const int i = blockIdx.x * 256 + threadIdx.x;
  if (i < N) c[i] = static_cast<T>(2.0f);
}
