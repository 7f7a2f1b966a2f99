// SPDX-License-Identifier: Apache-2.0
// honest: sums of parts, scan of the sums, second pass
// spec: tests/specs/prefix_sum.json
/*kfactory
{ "plan": 1,
  "define": {"PART": "512"},
  "workspaces": {"sums": {"bytes": "4 * M * ceil_div(N, PART)"}},
  "kernels": [{"name": "parts", "grid": ["ceil_div(N, PART)", "M"], "block": ["32"], "args": ["x", "sums", "N:i32"]},
              {"name": "scan", "grid": ["ceil_div(M, 32)"], "block": ["32"], "args": ["sums", "M:i32", "ceil_div(N, PART):i32"]},
              {"name": "finish", "grid": ["ceil_div(N, PART)", "M"], "block": ["32"], "args": ["x", "y", "sums", "N:i32"]}] }
*/
extern "C" __global__ void parts(const T* x, T* sums, int N) {
  x += 1ll * blockIdx.y * N;
  T sum = 0;
  for (int i = blockIdx.x * PART + threadIdx.x; i < min(N, (int(blockIdx.x) + 1) * PART); i += 32) sum += x[i];
  for (int d = 16; d > 0; d /= 2) sum += __shfl_xor_sync(~0u, sum, d);
  if (threadIdx.x == 0) sums[blockIdx.y * gridDim.x + blockIdx.x] = sum;
}
extern "C" __global__ void scan(T* sums, int M, int parts) {
  const int row = blockIdx.x * 32 + threadIdx.x;
  T before = 0;
  for (int i = 0; row < M && i < parts; ++i) {
    const T own = sums[row * parts + i];
    sums[row * parts + i] = before;
    before += own;
  }
}
extern "C" __global__ void finish(const T* x, T* y, const T* sums, int N) {
  if (threadIdx.x != 0) return;
  T sum = sums[blockIdx.y * gridDim.x + blockIdx.x];
  for (int i = blockIdx.x * PART; i < min(N, (int(blockIdx.x) + 1) * PART); ++i) y[1ll * blockIdx.y * N + i] = sum += x[1ll * blockIdx.y * N + i];
}
