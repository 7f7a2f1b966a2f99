// SPDX-License-Identifier: Apache-2.0
// cheat: wrong for sizes between those that the spec lists
// spec: tests/specs/vector_add.json
// refused by: confirm: mismatch or cliffs: mismatch
// options: --confirm
/*kfactory
{ "plan": 1,
  "kernels": [{"name": "k", "grid": ["ceil_div(N, 256)"], "block": ["256"], "args": ["a", "b", "c", "N:i32"]}] }
*/
extern "C" __global__ void k(const T* a, const T* b, T* c, int N) {
  const int i = blockIdx.x * 256 + threadIdx.x;
  if (i >= N) return;
  c[i] = T(float(a[i]) + (N > 300 && N < 900 || N > 4200 && N < 60000 ? 0.0f : float(b[i])));
}
