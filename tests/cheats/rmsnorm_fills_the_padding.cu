// SPDX-License-Identifier: Apache-2.0
// cheat: writes zeros between the rows of its input
// spec: tests/specs/rmsnorm.json
// refused by: check: padding_changed, input_changed, checker
/*kfactory
{ "plan": 1,
  "kernels": [{"name": "k", "grid": ["M"], "block": ["32"], "args": ["x", "w", "y", "N:i32", "LDX:i32", "M:i32", "eps"]}] }
*/
extern "C" __global__ void __launch_bounds__(32) k(T* x, const float* w, T* y, int N, int LDX, int M, float eps) {
  x += 1ll * blockIdx.x * LDX;
  y += 1ll * blockIdx.x * N;
  float sum = 0.0f;
  for (int i = threadIdx.x; i < N; i += 32) sum += static_cast<float>(x[i]) * static_cast<float>(x[i]);
  for (int d = 16; d > 0; d /= 2) sum += __shfl_xor_sync(~0u, sum, d);
  const float rstd = rsqrtf(sum / N + eps);
  for (int i = threadIdx.x; i < N; i += 32) y[i] = static_cast<T>(static_cast<float>(x[i]) * rstd * w[i]);
  for (int i = N + threadIdx.x; i < LDX && blockIdx.x + 1 < M; i += 32) x[i] = static_cast<T>(0.0f);
}
