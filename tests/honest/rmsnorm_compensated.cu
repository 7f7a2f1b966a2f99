// SPDX-License-Identifier: Apache-2.0
// honest: a compensated sum, which a strict compiler must not fold away
// spec: tests/specs/rmsnorm.json
/*kfactory
{ "plan": 1,
  "kernels": [{"name": "k", "grid": ["ceil_div(M, 32)"], "block": ["32"], "args": ["x", "w", "y", "M:i32", "N:i32", "LDX:i32", "eps"]}] }
*/
extern "C" __global__ void k(const T* x, const float* w, T* y, int M, int N, int LDX, float eps) {
  const int row = blockIdx.x * 32 + threadIdx.x;
  if (row >= M) return;
  float sum = 0.0f, lost = 0.0f;
  for (int i = 0; i < N; ++i) {
    const float value = static_cast<float>(x[1ll * row * LDX + i]);
    const float term = value * value - lost, next = sum + term;
    lost = next - sum - term;
    sum = next;
  }
  if (sum != sum) {  // Inf - Inf: the plain sum says what was meant
    sum = 0.0f;
    for (int i = 0; i < N; ++i) sum += static_cast<float>(x[1ll * row * LDX + i]) * static_cast<float>(x[1ll * row * LDX + i]);
  }
  const float rstd = rsqrtf(sum / N + eps);
  for (int i = 0; i < N; ++i) y[1ll * row * N + i] = static_cast<T>(static_cast<float>(x[1ll * row * LDX + i]) * rstd * w[i]);
}
