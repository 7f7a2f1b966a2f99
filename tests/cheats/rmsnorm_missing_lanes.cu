// SPDX-License-Identifier: Apache-2.0
// cheat: a full mask in a block of 48 threads
// spec: tests/specs/rmsnorm.json
// refused by: check: checker, mismatch
// on cuda: check: mismatch
// on cuda it may run right by chance: what missing lanes give is undefined
/*kfactory
{ "plan": 1,
  "kernels": [{"name": "k", "grid": ["M"], "block": ["48"], "args": ["x", "w", "y", "N:i32", "LDX:i32", "eps"]}] }
*/
extern "C" __global__ void k(const T* x, const float* w, T* y, int N, int LDX, float eps) {
  __shared__ float parts[2];
  x += 1ll * blockIdx.x * LDX;
  y += 1ll * blockIdx.x * N;
  float sum = 0.0f;
  for (int i = threadIdx.x; i < N; i += 48) sum += static_cast<float>(x[i]) * static_cast<float>(x[i]);
  for (int d = 16; d > 0; d /= 2) sum += __shfl_xor_sync(~0u, sum, d);
  if (threadIdx.x % 32 == 0) parts[threadIdx.x / 32] = sum;
  __syncthreads();
  const float rstd = rsqrtf((parts[0] + parts[1]) / N + eps);
  for (int i = threadIdx.x; i < N; i += 48) y[i] = static_cast<T>(static_cast<float>(x[i]) * rstd * w[i]);
}
