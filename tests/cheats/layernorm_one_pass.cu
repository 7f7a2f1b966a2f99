// SPDX-License-Identifier: Apache-2.0
// cheat: variance as the difference of two means
// spec: tests/specs/layernorm_residual.json
// refused by: check: mismatch
/*kfactory
{ "plan": 1,
  "kernels": [{"name": "k", "grid": ["M"], "block": ["32"], "args": ["x", "gamma", "beta", "r", "y", "N:i32", "LDX:i32", "eps"]}] }
*/
extern "C" __global__ void __launch_bounds__(32) k(const T* x, const float* gamma, const float* beta, T* r, T* y, int N, int LDX, float eps) {
  x += 1ll * blockIdx.x * LDX;
  r += 1ll * blockIdx.x * N;
  y += 1ll * blockIdx.x * N;
  float sum = 0.0f, var = 0.0f;
  for (int i = threadIdx.x; i < N; i += 32) { const T v = T(float(x[i]) + float(r[i])); r[i] = v; sum += float(v); }
  for (int s = 16; s > 0; s /= 2) sum += __shfl_xor_sync(~0u, sum, s);
  const float mean = sum / N;
  for (int i = threadIdx.x; i < N; i += 32) { var += float(r[i]) * float(r[i]) - mean * mean; }
  for (int s = 16; s > 0; s /= 2) var += __shfl_xor_sync(~0u, var, s);
  const float rstd = rsqrtf(var / N + eps);
  for (int i = threadIdx.x; i < N; i += 32) y[i] = T((float(r[i]) - mean) * rstd * gamma[i] + (beta ? beta[i] : 0.0f));
}
