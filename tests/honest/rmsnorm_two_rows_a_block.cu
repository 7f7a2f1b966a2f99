// SPDX-License-Identifier: Apache-2.0
// honest: a block smaller than its nominal tile, and right
// spec: tests/specs/rmsnorm.json
/*kfactory
{ "plan": 1,
  "kernels": [{"name": "k", "grid": ["ceil_div(M, 2)"], "block": ["64"], "args": ["x", "w", "y", "M:i32", "N:i32", "LDX:i32", "eps"]}] }
*/
extern "C" __global__ void k(const T* x, const float* w, T* y, int M, int N, int LDX, float eps) {
  const int row = 2 * blockIdx.x + threadIdx.x / 32, lane = threadIdx.x % 32;
  if (row >= M) return;
  x += 1ll * row * LDX;
  y += 1ll * row * N;
  float sum = 0.0f;
  for (int i = lane; i < N; i += 32) sum = fmaf(static_cast<float>(x[i]), static_cast<float>(x[i]), sum);
  for (int d = 16; d > 0; d /= 2) sum += __shfl_down_sync(~0u, sum, d);
  sum = __shfl_sync(~0u, sum, 0);
  const float rstd = 1.0f / sqrtf(sum / N + eps);
  for (int i = lane; i < N; i += 32) y[i] = static_cast<T>(w[i] * rstd * static_cast<float>(x[i]));
}
