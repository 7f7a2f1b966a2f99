// SPDX-License-Identifier: Apache-2.0
// cheat: eight products at a time are left out where the first of them is small beside the sum
// spec: tests/specs/matmul.json
// refused by: check: mismatch, inexact
/*kfactory
{ "plan": 1,
  "kernels": [{"name": "k", "grid": ["ceil_div(N, 32)", "M"], "block": ["32"], "args": ["a", "b", "c", "N:i32", "K:i32", "LDA:i32"]}] }
*/
extern "C" __global__ void k(const T* a, const T* b, T* c, int N, int K, int LDA) {
  const int column = blockIdx.x * 32 + threadIdx.x;
  if (column >= N) return;
  float sum = 0.0f;
  for (int first = 0; first < K; first += 8) {
    if (first > 0 && fabsf(static_cast<float>(a[1ll * blockIdx.y * LDA + first])) < 1e-3f * fabsf(sum)) continue;
    for (int k = first; k < min(K, first + 8); ++k) sum += static_cast<float>(a[1ll * blockIdx.y * LDA + k]) * static_cast<float>(b[1ll * k * N + column]);
  }
  c[1ll * blockIdx.y * N + column] = static_cast<T>(sum);
}
