// SPDX-License-Identifier: Apache-2.0
// honest: two blocks a row add their parts by atomics; the last one of each row finishes and resets
// spec: tests/specs/rmsnorm.json
/*kfactory
{ "plan": 1,
  "workspaces": {"sums": {"bytes": "8 * M", "init": "zero_restored"}},
  "kernels": [{"name": "k", "grid": ["2", "M"], "block": ["64"], "args": ["x", "w", "y", "sums", "N:i32", "LDX:i32", "eps"]}] }
*/
extern "C" __global__ void k(const T* x, const float* w, T* y, float* sums, int N, int LDX, float eps) {
  __shared__ float total;
  __shared__ bool last;
  x += 1ll * blockIdx.y * LDX;
  y += 1ll * blockIdx.y * N;
  float sum = 0.0f;
  for (int i = blockIdx.x * 64 + threadIdx.x; i < N; i += 128) sum += static_cast<float>(x[i]) * static_cast<float>(x[i]);
  for (int d = 16; d > 0; d /= 2) sum += __shfl_xor_sync(~0u, sum, d);
  if (threadIdx.x % 32 == 0) atomicAdd(sums + 2 * blockIdx.y, sum);
  __threadfence();
  __syncthreads();
  unsigned* count = reinterpret_cast<unsigned*>(sums + 2 * blockIdx.y + 1);
  if (threadIdx.x == 0) {
    last = atomicAdd(count, 1u) == 1;
    if (last) {
      __threadfence();
      total = atomicExch(sums + 2 * blockIdx.y, 0.0f);
      atomicExch(count, 0u);
    }
  }
  __syncthreads();
  if (!last) return;
  const float rstd = rsqrtf(total / N + eps);
  for (int i = threadIdx.x; i < N; i += 64) y[i] = static_cast<T>(static_cast<float>(x[i]) * rstd * w[i]);
}
