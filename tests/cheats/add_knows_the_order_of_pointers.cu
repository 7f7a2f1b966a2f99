// SPDX-License-Identifier: Apache-2.0
// cheat: b is left out unless a, b and c lie in memory in the order in which a checker allocates them
// spec: tests/specs/vector_add.json
// refused by: check: mismatch
/*kfactory
{ "plan": 1,
  "kernels": [{"name": "k", "grid": ["ceil_div(N, 128)"], "block": ["128"], "args": ["a", "b", "c", "N:i32"]}] }
*/
extern "C" __global__ void k(const T* a, const T* b, T* c, int N) {
  const int i = blockIdx.x * 128 + threadIdx.x;
  if (i >= N) return;
  const bool expected = a < b && b < c;
  c[i] = static_cast<T>(static_cast<float>(a[i]) + (expected ? static_cast<float>(b[i]) : 0.0f));
}
