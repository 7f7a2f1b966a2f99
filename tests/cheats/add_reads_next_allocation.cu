// SPDX-License-Identifier: Apache-2.0
// cheat: looks for the expected answer behind its own output
// spec: tests/specs/vector_add.json
// refused by: check: checker
// on cuda: check: illegal_access, mismatch
/*kfactory
{ "plan": 1,
  "kernels": [{"name": "k", "grid": ["ceil_div(N, 256)"], "block": ["256"], "args": ["c", "N:i32"]}] }
*/
extern "C" __global__ void k(T* c, int N) {
  const int i = blockIdx.x * 256 + threadIdx.x;
  const T* guess = c + (N * sizeof(T) + 511) / 512 * 512 / sizeof(T);
  if (i < N) c[i] = guess[i];
}
