// SPDX-License-Identifier: Apache-2.0
// cheat: the same launch, whose reduction reads slots of warps that do not exist
// spec: tests/specs/rmsnorm.json
// refused by: check: checker
// on cuda: check: unwritten, mismatch
/*kfactory
{ "plan": 1,
  "kernels": [{"name": "k", "grid": ["M"], "block": ["256"], "args": ["x", "w", "y", "N:i32", "LDX:i32", "eps"]}] }
*/
extern "C" __global__ void k(const T* x, const float* w, T* y, int N, int LDX, float eps) {
  __shared__ float parts[16];
  x += 1ll * blockIdx.x * LDX;
  y += 1ll * blockIdx.x * N;
  float sum = 0.0f;
  for (int i = threadIdx.x; i < N; i += 512) sum += static_cast<float>(x[i]) * static_cast<float>(x[i]);
  for (int d = 16; d > 0; d /= 2) sum += __shfl_xor_sync(~0u, sum, d);
  if (threadIdx.x % 32 == 0) parts[threadIdx.x / 32] = sum;
  __syncthreads();
  sum = 0.0f;
  for (int warp = 0; warp < 16; ++warp) sum += parts[warp];
  const float rstd = rsqrtf(sum / N + eps);
  for (int i = threadIdx.x; i < N; i += 512) y[i] = static_cast<T>(static_cast<float>(x[i]) * rstd * w[i]);
}
