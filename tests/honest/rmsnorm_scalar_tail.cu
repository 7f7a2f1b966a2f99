// SPDX-License-Identifier: Apache-2.0
// honest: pairs where rows are even, single elements where not: slower there, and no cliff
// spec: tests/specs/rmsnorm.json
// options: --confirm
/*kfactory
{ "plan": 1,
  "kernels": [{"name": "k", "grid": ["M"], "block": ["32"], "args": ["x", "w", "y", "N:i32", "LDX:i32", "eps"]}] }
*/
extern "C" __global__ void __launch_bounds__(32) k(const T* x, const float* w, T* y, int N, int LDX, float eps) {
  x += 1ll * blockIdx.x * LDX;
  y += 1ll * blockIdx.x * N;
  float sum = 0.0f;
  int i = 2 * threadIdx.x;
  for (; i + 1 < N; i += 64) sum += static_cast<float>(x[i]) * static_cast<float>(x[i]) + static_cast<float>(x[i + 1]) * static_cast<float>(x[i + 1]);
  if (i < N) sum += static_cast<float>(x[i]) * static_cast<float>(x[i]);
  for (int d = 16; d > 0; d /= 2) sum += __shfl_xor_sync(~0u, sum, d);
  const float rstd = rsqrtf(sum / N + eps);
  for (int j = threadIdx.x; j < N; j += 32) y[j] = static_cast<T>(static_cast<float>(x[j]) * rstd * w[j]);
}
