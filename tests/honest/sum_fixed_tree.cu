// SPDX-License-Identifier: Apache-2.0
// honest: parts of a row through memory, added by a second kernel in one order: equal bits whatever the blocks do
// spec: tests/specs/scaled_sum.json
/*kfactory
{ "plan": 1,
  "workspaces": {"parts": {"bytes": "M * 16 * 4"}},
  "kernels": [{"name": "parts_of_rows", "grid": ["16", "M"], "block": ["64"], "args": ["x", "parts", "N:i32"]},
              {"name": "k", "grid": ["ceil_div(M, 64)"], "block": ["64"], "args": ["parts", "s", "y", "M:i32"]}] }
*/
extern "C" __global__ void __launch_bounds__(64) parts_of_rows(const T* x, float* parts, int N) {
  __shared__ float halves[2];
  x += 1ll * blockIdx.y * N;
  float sum = 0.0f;
  for (int i = blockIdx.x * 64 + threadIdx.x; i < N; i += 1024) sum += x[i];
  for (int d = 16; d > 0; d /= 2) sum += __shfl_xor_sync(~0u, sum, d);
  if (threadIdx.x % 32 == 0) halves[threadIdx.x / 32] = sum;
  __syncthreads();
  if (threadIdx.x == 0) parts[blockIdx.y * 16 + blockIdx.x] = halves[0] + halves[1];
}
extern "C" __global__ void __launch_bounds__(64) k(const float* parts, const T* s, T* y, int M) {
  const int row = blockIdx.x * 64 + threadIdx.x;
  if (row >= M) return;
  float sum = 0.0f;
  for (int i = 0; i < 16; ++i) sum += parts[row * 16 + i];
  y[row] = s[row] * sum;
}
