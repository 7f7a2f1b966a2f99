// SPDX-License-Identifier: Apache-2.0
// cheat: a copy of one input, near enough where the other is small
// spec: tests/specs/vector_add.json
// refused by: check: mismatch
/*kfactory
{ "plan": 1,
  "kernels": [{"name": "k", "grid": ["ceil_div(N, 256)"], "block": ["256"], "args": ["a", "c", "N:i32"]}] }
*/
extern "C" __global__ void k(const T* a, T* c, int N) {
  const int i = blockIdx.x * 256 + threadIdx.x;
  if (i < N) c[i] = a[i];
}
