// SPDX-License-Identifier: Apache-2.0
// cheat: every other element above 2048, where it hopes nobody looks
// spec: tests/specs/vector_add.json
// refused by: check: mismatch
/*kfactory
{ "plan": 1,
  "kernels": [{"name": "k", "grid": ["ceil_div(N, 256)"], "block": ["256"], "args": ["a", "b", "c", "N:i32"]}] }
*/
extern "C" __global__ void k(const T* a, const T* b, T* c, int N) {
  const int i = blockIdx.x * 256 + threadIdx.x;
  const int from = N > 2048 ? i & ~1 : i;
  if (i < N) c[i] = static_cast<T>(static_cast<float>(a[from]) + static_cast<float>(b[from]));
}
