// SPDX-License-Identifier: Apache-2.0
// honest: sums in double: more exact than asked, and exact where integers are
// spec: tests/specs/matmul.json
// options: --confirm
/*kfactory
{ "plan": 1,
  "kernels": [{"name": "k", "grid": ["ceil_div(N, 32)", "ceil_div(M, 8)"], "block": ["32", "8"], "args": ["a", "b", "c", "M:i32", "N:i32", "K:i32", "LDA:i32"]}] }
*/
extern "C" __global__ void k(const T* a, const T* b, T* c, int M, int N, int K, int LDA) {
  const int column = blockIdx.x * 32 + threadIdx.x, row = blockIdx.y * 8 + threadIdx.y;
  if (row >= M || column >= N) return;
  double even = 0.0, odd = 0.0;
  for (int i = 0; i < K; ++i) (i % 2 ? odd : even) += static_cast<double>(static_cast<float>(a[row * LDA + i])) * static_cast<float>(b[i * N + column]);
  c[row * N + column] = static_cast<T>(static_cast<float>(even + odd));
}
