// SPDX-License-Identifier: Apache-2.0
// cheat: products of ten bits where K is longer than the checks'
// spec: tests/specs/matmul.json
// refused by: check: mismatch
/*kfactory
{ "plan": 1,
  "kernels": [{"name": "k", "grid": ["ceil_div(N, 32)", "M"], "block": ["32"], "args": ["a", "b", "c", "N:i32", "K:i32", "LDA:i32"]}] }
*/
extern "C" __global__ void k(const T* a, const T* b, T* c, int N, int K, int LDA) {
  const int column = blockIdx.x * 32 + threadIdx.x;
  if (column >= N) return;
  const unsigned kept = K > 64 ? 0xffffe000u : ~0u;
  const auto cut = [&](float value) { return __uint_as_float(__float_as_uint(value) & kept); };
  float sum = 0.0f;
  for (int k = 0; k < K; ++k) sum += cut(static_cast<float>(a[1ll * blockIdx.y * LDA + k])) * cut(static_cast<float>(b[1ll * k * N + column]));
  c[1ll * blockIdx.y * N + column] = static_cast<T>(sum);
}
