// SPDX-License-Identifier: Apache-2.0
// cheat: two halves of K, each kept in bfloat16: one more rounding than the spec allows
// spec: tests/specs/matmul.json
// refused by: check: mismatch, inexact
/*kfactory
{ "plan": 1,
  "kernels": [{"name": "k", "grid": ["ceil_div(N, 32)", "ceil_div(M, 8)"], "block": ["32", "8"], "args": ["a", "b", "c", "M:i32", "N:i32", "K:i32", "LDA:i32"]}] }
*/
#include <cuda_bf16.h>
extern "C" __global__ void k(const T* a, const T* b, T* c, int M, int N, int K, int LDA) {
  const int column = blockIdx.x * 32 + threadIdx.x, row = blockIdx.y * 8 + threadIdx.y;
  if (row >= M || column >= N) return;
  float parts[2] = {0.0f, 0.0f};
  for (int i = 0; i < K; ++i) parts[2 * i / K] += static_cast<float>(a[row * LDA + i]) * static_cast<float>(b[i * N + column]);
  const float first = static_cast<float>(__float2bfloat16(parts[0])), second = static_cast<float>(__float2bfloat16(parts[1]));
  c[row * N + column] = static_cast<T>(first + second);
}
