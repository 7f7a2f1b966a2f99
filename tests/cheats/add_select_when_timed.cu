// SPDX-License-Identifier: Apache-2.0
// cheat: select takes the wrong variant where it is timed
// spec: tests/specs/vector_add.json
// refused by: timed run: mismatch
/*kfactory
{ "plan": 1, "tune": {"FAST": [0, 1]},
  "select": [{"when": "N == 2048 || N >= 1048576", "set": {"FAST": 1}}, {"set": {"FAST": 0}}],
  "kernels": [{"name": "k", "grid": ["ceil_div(N, 256)"], "block": ["256"], "args": ["a", "b", "c", "N:i32"]}] }
*/
extern "C" __global__ void k(const T* a, const T* b, T* c, int N) {
  const int i = blockIdx.x * 256 + threadIdx.x;
  if (i >= N) return;
  c[i] = T(float(a[i]) + (FAST && i > N / 2 ? 0.0f : float(b[i])));
}
