// SPDX-License-Identifier: Apache-2.0
// honest: mean and variance of lanes joined by pairs
// spec: tests/specs/layernorm_residual.json
/*kfactory
{ "plan": 1,
  "kernels": [{"name": "k", "grid": ["M"], "block": ["32"], "args": ["x", "gamma", "beta", "r", "y", "N:i32", "LDX:i32", "eps"]}] }
*/
extern "C" __global__ void __launch_bounds__(32) k(const T* x, const float* gamma, const float* beta, T* r, T* y, int N, int LDX, float eps) {
  x += 1ll * blockIdx.x * LDX;
  r += 1ll * blockIdx.x * N;
  y += 1ll * blockIdx.x * N;
  float n = 0.0f, mean = 0.0f, m2 = 0.0f;
  for (int i = threadIdx.x; i < N; i += 32) {
    const T v = T(float(x[i]) + float(r[i]));
    r[i] = v;
    n += 1.0f;
    const float d = float(v) - mean;
    mean += d / n;
    m2 += d * (float(v) - mean);
  }
  for (int s = 16; s > 0; s /= 2) {
    const float on = __shfl_xor_sync(~0u, n, s), om = __shfl_xor_sync(~0u, mean, s), o2 = __shfl_xor_sync(~0u, m2, s), all = n + on, d = om - mean;
    if (on > 0.0f) {
      const bool low = !(threadIdx.x & s);
      mean = n == 0.0f ? om : (low ? mean * (n / all) + om * (on / all) : om * (on / all) + mean * (n / all));
      m2 = m2 + o2 + d * d * (n * on / all);
    }
    n = all;
  }
  const float rstd = rsqrtf(m2 / N + eps);
  for (int i = threadIdx.x; i < N; i += 32) y[i] = T((float(r[i]) - mean) * rstd * gamma[i] + (beta ? beta[i] : 0.0f));
}
