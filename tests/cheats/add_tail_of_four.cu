// SPDX-License-Identifier: Apache-2.0
// cheat: a tail of exactly four of eight elements is lost
// spec: tests/specs/vector_add.json
// refused by: confirm: unwritten, mismatch
// options: --confirm
/*kfactory
{ "plan": 1,
  "kernels": [{"name": "k", "grid": ["ceil_div(N, 2048)"], "block": ["256"], "args": ["a", "b", "c", "N:i32"]}] }
*/
extern "C" __global__ void k(const T* a, const T* b, T* c, int N) {
  const int i = (blockIdx.x * 256 + threadIdx.x) * 8;
  for (int j = i; j < i + 8 && j < N; ++j) if (!(N % 8 == 4 && j >= N - 4)) c[j] = T(float(a[j]) + float(b[j]));
}
