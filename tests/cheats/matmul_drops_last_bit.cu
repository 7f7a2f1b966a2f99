// SPDX-License-Identifier: Apache-2.0
// cheat: float32 results lose their last bit: within the bound of sums, seen where a row of a is a single one
// spec: tests/specs/matmul.json
// refused by: check: inexact
// says: the reference, rounded once
/*kfactory
{ "plan": 1,
  "kernels": [{"name": "k", "grid": ["ceil_div(N, 32)", "ceil_div(M, 8)"], "block": ["32", "8"], "args": ["a", "b", "c", "M:i32", "N:i32", "K:i32", "LDA:i32"]}] }
*/
extern "C" __global__ void k(const T* a, const T* b, T* c, int M, int N, int K, int LDA) {
  const int column = blockIdx.x * 32 + threadIdx.x, row = blockIdx.y * 8 + threadIdx.y;
  if (row >= M || column >= N) return;
  float sum = 0.0f;
  for (int i = 0; i < K; ++i) sum += static_cast<float>(a[row * LDA + i]) * static_cast<float>(b[i * N + column]);
  c[row * N + column] = static_cast<T>(__uint_as_float(__float_as_uint(sum) & ~1u));
}
