// SPDX-License-Identifier: Apache-2.0
// honest: the mean of squares by sums of scaled squares: another order, another rounding
// spec: tests/specs/rmsnorm.json
/*kfactory
{ "plan": 1,
  "kernels": [{"name": "k", "grid": ["M"], "block": ["32"], "args": ["x", "w", "y", "N:i32", "LDX:i32", "eps"]}] }
*/
extern "C" __global__ void k(const T* x, const float* w, T* y, int N, int LDX, float eps) {
  x += 1ll * blockIdx.x * LDX;
  y += 1ll * blockIdx.x * N;
  const float scale = 1.0f / static_cast<float>(N);
  float mean = 0.0f;
  for (int i = threadIdx.x; i < N; i += 32) mean += static_cast<float>(x[i]) * static_cast<float>(x[i]) * scale;
  for (int d = 1; d < 32; d *= 2) mean += __shfl_xor_sync(~0u, mean, d);
  const float rstd = rsqrtf(mean + eps);
  for (int i = N - 1 - threadIdx.x; i >= 0; i -= 32) y[i] = static_cast<T>(static_cast<float>(x[i]) * (rstd * w[i]));
}
