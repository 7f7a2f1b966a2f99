// SPDX-License-Identifier: Apache-2.0
// cheat: rows of a are K apart, whatever the spec says
// spec: tests/specs/matmul.json
// refused by: check: mismatch, checker
/*kfactory
{ "plan": 1,
  "kernels": [{"name": "k", "grid": ["ceil_div(N, 32)", "ceil_div(M, 8)"], "block": ["32", "8"], "args": ["a", "b", "c", "M:i32", "N:i32", "K:i32"]}] }
*/
extern "C" __global__ void k(const T* a, const T* b, T* c, int M, int N, int K) {
  const int column = blockIdx.x * 32 + threadIdx.x, row = blockIdx.y * 8 + threadIdx.y;
  if (row >= M || column >= N) return;
  float sum = 0.0f;
  for (int i = 0; i < K; ++i) sum += static_cast<float>(a[row * K + i]) * static_cast<float>(b[i * N + column]);
  c[row * N + column] = static_cast<T>(sum);
}
