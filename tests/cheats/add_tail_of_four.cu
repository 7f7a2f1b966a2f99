// SPDX-License-Identifier: Apache-2.0
// cheat: tails of four and five of eight elements are lost
// spec: tests/specs/vector_add.json
// refused by: confirm: unwritten, mismatch or cliffs: unwritten, mismatch
// options: --confirm
/*kfactory
{ "plan": 1,
  "kernels": [{"name": "k", "grid": ["ceil_div(N, 2048)"], "block": ["256"], "args": ["a", "b", "c", "N:i32"]}] }
*/
extern "C" __global__ void k(const T* a, const T* b, T* c, int N) {
  const int i = (blockIdx.x * 256 + threadIdx.x) * 8;
  for (int j = i; j < i + 8 && j < N; ++j) if (!((N % 8 == 4 || N % 8 == 5) && j >= N - N % 8)) c[j] = T(float(a[j]) + float(b[j]));
}
