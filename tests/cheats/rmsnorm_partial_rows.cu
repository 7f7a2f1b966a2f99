// SPDX-License-Identifier: Apache-2.0
// cheat: written for 512 threads a row and launched with 256; max(1, ...) hides it and half of each row is never written
// spec: tests/specs/rmsnorm.json
// refused by: check: mismatch
// says: the second half of each row is not covered
/*kfactory
{ "plan": 1,
  "define": {"ROWS_PER_BLOCK": "max(1, 256 / 512)"},
  "kernels": [{"name": "k", "grid": ["ceil_div(M, ROWS_PER_BLOCK)"], "block": ["256"], "args": ["x", "w", "y", "N:i32", "LDX:i32", "eps"]}] }
*/
// A public RMSNorm lost half of its rows this way: each thread has ceil(N / 512) elements by the nominal tile.
extern "C" __global__ void __launch_bounds__(256) k(const T* x, const float* w, T* y, int N, int LDX, float eps) {
  constexpr int kThreadsPerRow = 512;
  __shared__ float parts[8];
  x += 1ll * blockIdx.x * LDX;
  y += 1ll * blockIdx.x * N;
  float sum = 0.0f;
  for (int i = threadIdx.x; i < N; i += kThreadsPerRow) sum += static_cast<float>(x[i]) * static_cast<float>(x[i]);
  for (int d = 16; d > 0; d /= 2) sum += __shfl_xor_sync(~0u, sum, d);
  if (threadIdx.x % 32 == 0) parts[threadIdx.x / 32] = sum;
  __syncthreads();
  sum = 0.0f;
  for (int warp = 0; warp < 8; ++warp) sum += parts[warp];
  const float rstd = rsqrtf(sum / N + eps);
  for (int i = threadIdx.x; i < N; i += kThreadsPerRow) y[i] = static_cast<T>(static_cast<float>(x[i]) * rstd * w[i]);
}
