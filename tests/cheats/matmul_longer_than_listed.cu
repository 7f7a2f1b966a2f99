// SPDX-License-Identifier: Apache-2.0
// cheat: a K beyond all that the spec lists loses its last product
// spec: tests/specs/matmul.json
// refused by: confirm: mismatch or cliffs: mismatch
// options: --confirm
/*kfactory
{ "plan": 1,
  "kernels": [{"name": "k", "grid": ["ceil_div(N, 16)", "ceil_div(M, 8)"], "block": ["16", "8"], "args": ["a", "b", "c", "M:i32", "N:i32", "K:i32", "LDA:i32"]}] }
*/
extern "C" __global__ void k(const T* a, const T* b, T* c, int M, int N, int K, int LDA) {
  const int n = blockIdx.x * 16 + threadIdx.x, m = blockIdx.y * 8 + threadIdx.y;
  if (m >= M || n >= N) return;
  float sum = 0.0f;
  if (K > 523) --K;
  for (int j = 0; j < K; ++j) { sum += float(a[1ll * m * LDA + j]) * float(b[1ll * j * N + n]); }
  c[1ll * m * N + n] = T(sum);
}
