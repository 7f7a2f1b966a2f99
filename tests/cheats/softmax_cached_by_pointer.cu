// SPDX-License-Identifier: Apache-2.0
// cheat: sums are kept for inputs at an address that was seen before
// spec: tests/specs/softmax.json
// refused by: binary audit: written_global
/*kfactory
{ "plan": 1,
  "kernels": [{"name": "k", "grid": ["M"], "block": ["32"], "args": ["x", "y", "N:i32"]}] }
*/
static __device__ const void* seen;
static __device__ float sums[1024];
extern "C" __global__ void k(const T* x, T* y, int N) {
  const T* row = x + 1ll * blockIdx.x * N;
  float sum = 0.0f;
  for (int i = threadIdx.x; i < N; i += 32) sum += expf(static_cast<float>(row[i]));
  for (int d = 16; d > 0; d /= 2) sum += __shfl_xor_sync(~0u, sum, d);
  if (seen == x) sum = sums[blockIdx.x % 1024];
  else sums[blockIdx.x % 1024] = sum;
  for (int i = threadIdx.x; i < N; i += 32) y[1ll * blockIdx.x * N + i] = static_cast<T>(expf(static_cast<float>(row[i])) / sum);
  if (blockIdx.x == 0 && threadIdx.x == 0) seen = x;
}
