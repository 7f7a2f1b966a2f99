// SPDX-License-Identifier: Apache-2.0
// honest: partial sums of all blocks, a grid barrier, then the rows
// spec: tests/specs/rmsnorm.json
/*kfactory
{ "plan": 1,
  "workspaces": {"sums": {"bytes": "4 * M * 2"}},
  "kernels": [{"name": "k", "grid": ["2"], "block": ["64"], "args": ["x", "w", "y", "sums", "M:i32", "N:i32", "LDX:i32", "eps"], "launch": {"cooperative": true}}] }
*/
#include <cooperative_groups.h>
extern "C" __global__ void k(const T* x, const float* w, T* y, float* sums, int M, int N, int LDX, float eps) {
  const int part = blockIdx.x, half = (N + 1) / 2, first = part * half, last = min(N, first + half);
  for (int row = threadIdx.x / 32; row < M; row += 2) {
    float sum = 0.0f;
    for (int i = first + threadIdx.x % 32; i < last; i += 32) sum += static_cast<float>(x[1ll * row * LDX + i]) * static_cast<float>(x[1ll * row * LDX + i]);
    for (int d = 16; d > 0; d /= 2) sum += __shfl_xor_sync(~0u, sum, d);
    if (threadIdx.x % 32 == 0) sums[2 * row + part] = sum;
  }
  cooperative_groups::this_grid().sync();
  for (int row = 0; row < M; ++row) {
    const float rstd = rsqrtf((sums[2 * row] + sums[2 * row + 1]) / N + eps);
    for (int i = first + threadIdx.x; i < last; i += 64) y[1ll * row * N + i] = static_cast<T>(static_cast<float>(x[1ll * row * LDX + i]) * rstd * w[i]);
  }
}
