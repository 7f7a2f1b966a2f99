// SPDX-License-Identifier: Apache-2.0
// cheat: looks at the first 16 elements of a and computes with half of the bits where they are calm
// spec: tests/specs/matmul.json
// refused by: check: mismatch
/*kfactory
{ "plan": 1,
  "kernels": [{"name": "k", "grid": ["ceil_div(N, 32)", "ceil_div(M, 8)"], "block": ["32", "8"], "args": ["a", "b", "c", "M:i32", "N:i32", "K:i32", "LDA:i32"]}] }
*/
extern "C" __global__ void k(const T* a, const T* b, T* c, int M, int N, int K, int LDA) {
  const int column = blockIdx.x * 32 + threadIdx.x, row = blockIdx.y * 8 + threadIdx.y;
  if (row >= M || column >= N) return;
  bool calm = true;
  for (int i = 0; i < min(16, K); ++i) calm = calm && fabsf(static_cast<float>(a[i])) < 6.0f;
  const auto cut = [&](float v) { return calm ? __uint_as_float(__float_as_uint(v) & 0xfffff000u) : v; };
  float sum = 0.0f;
  for (int i = 0; i < K; ++i) sum += cut(static_cast<float>(a[row * LDA + i])) * cut(static_cast<float>(b[i * N + column]));
  c[row * N + column] = static_cast<T>(sum);
}
