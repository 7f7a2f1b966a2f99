// SPDX-License-Identifier: Apache-2.0
// honest: the mean as a sum of squares of x / sqrt(N): the division by N is folded into the factor
// spec: tests/specs/rmsnorm.json
/*kfactory
{ "plan": 1,
  "kernels": [{"name": "k", "grid": ["M"], "block": ["32"], "args": ["x", "w", "y", "N:i32", "LDX:i32", "eps"]}] }
*/
extern "C" __global__ void __launch_bounds__(32) k(const T* x, const float* w, T* y, int N, int LDX, float eps) {
  x += 1ll * blockIdx.x * LDX;
  y += 1ll * blockIdx.x * N;
  const float factor = rsqrtf(static_cast<float>(N));
  float mean = 0.0f;
  for (int i = threadIdx.x; i < N; i += 32) {
    const float scaled = static_cast<float>(x[i]) * factor;
    mean = fmaf(scaled, scaled, mean);
  }
  for (int d = 16; d > 0; d /= 2) mean += __shfl_xor_sync(~0u, mean, d);
  const float rstd = rsqrtf(mean + eps);
  for (int i = threadIdx.x; i < N; i += 32) y[i] = static_cast<T>(static_cast<float>(x[i]) * rstd * w[i]);
}
