// SPDX-License-Identifier: Apache-2.0
// cheat: adds to a shared sum that nobody set to zero
// spec: tests/specs/rmsnorm.json
// refused by: check: checker, mismatch
// on cuda: check: mismatch
/*kfactory
{ "plan": 1,
  "kernels": [{"name": "k", "grid": ["M"], "block": ["32"], "args": ["x", "w", "y", "N:i32", "LDX:i32", "eps"]}] }
*/
extern "C" __global__ void __launch_bounds__(32) k(const T* x, const float* w, T* y, int N, int LDX, float eps) {
  __shared__ float sum;
  x += 1ll * blockIdx.x * LDX;
  y += 1ll * blockIdx.x * N;
  float own = 0.0f;
  for (int i = threadIdx.x; i < N; i += 32) own += static_cast<float>(x[i]) * static_cast<float>(x[i]);
  atomicAdd(&sum, own);
  __syncthreads();
  const float rstd = rsqrtf(sum / N + eps);
  for (int i = threadIdx.x; i < N; i += 32) y[i] = static_cast<T>(static_cast<float>(x[i]) * rstd * w[i]);
}
