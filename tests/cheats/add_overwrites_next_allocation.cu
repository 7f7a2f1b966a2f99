// SPDX-License-Identifier: Apache-2.0
// cheat: zeroes what may be the expected answer, and its own output
// spec: tests/specs/vector_add.json
// refused by: check: checker
// on cuda: check: illegal_access, red_zone, input_changed, mismatch
/*kfactory
{ "plan": 1,
  "kernels": [{"name": "k", "grid": ["ceil_div(N, 256)"], "block": ["256"], "args": ["c", "N:i32"]}] }
*/
extern "C" __global__ void k(T* c, int N) {
  const int i = blockIdx.x * 256 + threadIdx.x;
  T* guess = c + (N * sizeof(T) + 511) / 512 * 512 / sizeof(T);
  if (i < N) guess[i] = c[i] = static_cast<T>(0.0f);
}
