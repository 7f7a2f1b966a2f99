// SPDX-License-Identifier: Apache-2.0
// honest: two rows a block, each with a named barrier of its own; the second row may be missing
// spec: tests/specs/rmsnorm.json
/*kfactory
{ "plan": 1,
  "kernels": [{"name": "k", "grid": ["ceil_div(M, 2)"], "block": ["64", "2"], "args": ["x", "w", "y", "M:i32", "N:i32", "LDX:i64", "eps"]}] }
*/
// Two groups of two warps, each with its named barrier and its row; the second may have none.
extern "C" __global__ void k(const T* x, const float* w, T* y, int M, int N, long long LDX, float eps) {
  __shared__ float part[2][2];
  const int row = blockIdx.x * 2 + threadIdx.y;
  if (row >= M) return;
  float sum = 0;
  for (int i = threadIdx.x; i < N; i += 64) { const float v = static_cast<float>(x[row * LDX + i]); sum = fmaf(v, v, sum); }
  for (int d = 16; d > 0; d /= 2) sum += __shfl_down_sync(~0u, sum, d);
  if (threadIdx.x % 32 == 0) part[threadIdx.y][threadIdx.x / 32] = sum;
  asm volatile("barrier.cta.sync %0, 64;" :: "r"(threadIdx.y + 1) : "memory");
  const float rstd = rsqrtf((part[threadIdx.y][0] + part[threadIdx.y][1]) / N + eps);
  for (int i = threadIdx.x; i < N; i += 64) y[1ll * row * N + i] = static_cast<T>(static_cast<float>(x[row * LDX + i]) * rstd * w[i]);
}
