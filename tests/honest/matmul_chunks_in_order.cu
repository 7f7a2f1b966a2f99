// SPDX-License-Identifier: Apache-2.0
// honest: repeated launches add their part of K in order
// spec: tests/specs/matmul.json
/*kfactory
{ "plan": 1,
  "workspaces": {"w": {"bytes": "4 * M * N"}},
  "kernels": [{"name": "p", "repeat": {"s": "3"}, "grid": ["ceil_div(N, 16)", "ceil_div(M, 8)"], "block": ["16", "8"], "args": ["a", "b", "w", "M:i32", "N:i32", "s * K / 3:i32", "(s + 1) * K / 3:i32", "LDA:i32"]}, {"name": "q", "grid": ["ceil_div(M * N, 128)"], "block": ["128"], "args": ["w", "c", "M * N:i32"]}] }
*/
extern "C" __global__ void p(const T* a, const T* b, float* w, int M, int N, int F, int L, int LDA) {
  const int n = blockIdx.x * 16 + threadIdx.x, m = blockIdx.y * 8 + threadIdx.y;
  if (m >= M || n >= N) return;
  float sum = F == 0 ? 0.0f : w[1ll * m * N + n];
  for (int j = F; j < L; ++j) sum += float(a[1ll * m * LDA + j]) * float(b[1ll * j * N + n]);
  if (F > 0 || L > 0) w[1ll * m * N + n] = sum;
  else w[1ll * m * N + n] = 0.0f;
}
extern "C" __global__ void q(const float* w, T* c, int n) { const int i = blockIdx.x * 128 + threadIdx.x; if (i < n) c[i] = T(w[i]); }
