// SPDX-License-Identifier: Apache-2.0
// cheat: where the weight is zero the row is not looked at, even where its mean is NaN
// spec: tests/specs/rmsnorm.json
// refused by: check: mismatch
/*kfactory
{ "plan": 1,
  "kernels": [{"name": "k", "grid": ["M"], "block": ["32"], "args": ["x", "w", "y", "N:i32", "LDX:i32", "eps"]}] }
*/
extern "C" __global__ void __launch_bounds__(32) k(const T* x, const float* w, T* y, int N, int LDX, float eps) {
  x += 1ll * blockIdx.x * LDX;
  y += 1ll * blockIdx.x * N;
  float sum = 0.0f;
  for (int i = threadIdx.x; i < N; i += 32) sum += static_cast<float>(x[i]) * static_cast<float>(x[i]);
  for (int d = 16; d > 0; d /= 2) sum += __shfl_xor_sync(~0u, sum, d);
  const float rstd = rsqrtf(sum / N + eps);
  for (int i = threadIdx.x; i < N; i += 32) {
    y[i] = static_cast<T>(w[i] == 0.0f ? 0.0f : static_cast<float>(x[i]) * rstd * w[i]);
  }
}
