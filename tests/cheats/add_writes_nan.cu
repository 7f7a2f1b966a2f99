// SPDX-License-Identifier: Apache-2.0
// cheat: NaN everywhere, for a comparison to which NaN is a wildcard
// spec: tests/specs/vector_add.json
// refused by: check: mismatch
/*kfactory
{ "plan": 1,
  "kernels": [{"name": "k", "grid": ["ceil_div(N, 256)"], "block": ["256"], "args": ["c", "N:i32"]}] }
*/
extern "C" __global__ void k(T* c, int N) {
  const int i = blockIdx.x * 256 + threadIdx.x;
  if (i < N) c[i] = static_cast<T>(NAN);
}
