// SPDX-License-Identifier: Apache-2.0
// cheat: right for every K that the spec lists; the last product is missing for others
// spec: tests/specs/matmul.json
// refused by: confirm: mismatch or cliffs: mismatch
// options: --confirm
/*kfactory
{ "plan": 1,
  "kernels": [{"name": "k", "grid": ["ceil_div(N, 32)", "ceil_div(M, 8)"], "block": ["32", "8"], "args": ["a", "b", "c", "M:i32", "N:i32", "K:i32", "LDA:i32"]}] }
*/
__device__ bool listed(int k) { return k == 19 || k == 32 || k == 40 || k == 48 || k == 72 || k == 264 || k == 512 || k == 523; }
extern "C" __global__ void k(const T* a, const T* b, T* c, int M, int N, int K, int LDA) {
  const int column = blockIdx.x * 32 + threadIdx.x, row = blockIdx.y * 8 + threadIdx.y;
  if (row >= M || column >= N) return;
  float sum = 0.0f;
  for (int i = 0; i < (listed(K) ? K : K - 1); ++i) sum += static_cast<float>(a[row * LDA + i]) * static_cast<float>(b[i * N + column]);
  c[row * N + column] = static_cast<T>(sum);
}
