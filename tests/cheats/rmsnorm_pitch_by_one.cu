// SPDX-License-Identifier: Apache-2.0
// cheat: rows that are not dense are taken to be one element longer
// spec: tests/specs/rmsnorm.json
// refused by: check: mismatch, checker
/*kfactory
{ "plan": 1,
  "kernels": [{"name": "k", "grid": ["M"], "block": ["32"], "args": ["x", "w", "y", "N:i32", "LDX:i32", "eps"]}] }
*/
extern "C" __global__ void __launch_bounds__(32) k(const T* x, const float* w, T* y, int N, int LDX, float eps) {
  x += 1ll * blockIdx.x * (LDX == N ? N : N + 1);
  y += 1ll * blockIdx.x * N;
  float sum = 0.0f;
  for (int i = threadIdx.x; i < N; i += 32) sum += static_cast<float>(x[i]) * static_cast<float>(x[i]);
  for (int d = 16; d > 0; d /= 2) sum += __shfl_xor_sync(~0u, sum, d);
  const float rstd = rsqrtf(sum / N + eps);
  for (int i = threadIdx.x; i < N; i += 32) y[i] = static_cast<T>(static_cast<float>(x[i]) * rstd * w[i]);
}
