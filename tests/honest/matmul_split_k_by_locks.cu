// SPDX-License-Identifier: Apache-2.0
// honest: three blocks a tile add up under a lock of the tile
// spec: tests/specs/matmul.json
/*kfactory
{ "plan": 1,
  "workspaces": {"sums": {"bytes": "4 * M * N", "init": "zero"}, "locks": {"bytes": "4 * ceil_div(N, 16) * ceil_div(M, 8)", "init": "zero_restored"}, "count": {"bytes": "4 * ceil_div(N, 16) * ceil_div(M, 8)", "init": "zero_restored"}},
  "kernels": [{"name": "k", "grid": ["ceil_div(N, 16)", "ceil_div(M, 8)", "3"], "block": ["16", "8"], "args": ["a", "b", "c", "sums", "locks", "count", "M:i32", "N:i32", "K:i32", "LDA:i32"]}] }
*/
extern "C" __global__ void k(const T* a, const T* b, T* c, float* sums, int* locks, int* count, int M, int N, int K, int LDA) {
  const int n = blockIdx.x * 16 + threadIdx.x, m = blockIdx.y * 8 + threadIdx.y, tile = blockIdx.y * gridDim.x + blockIdx.x;
  const bool in = m < M && n < N;
  float sum = 0;
  if (in) for (int j = blockIdx.z; j < K; j += 3) sum += float(a[1ll * m * LDA + j]) * float(b[1ll * j * N + n]);
  __shared__ bool last;
  const bool first_thread = threadIdx.x == 0 && threadIdx.y == 0;
  if (first_thread) { while (atomicCAS(locks + tile, 0, 1)) {} __threadfence(); }
  __syncthreads();
  if (in) { sum += __ldcg(sums + 1ll * m * N + n); sums[1ll * m * N + n] = sum; }
  __threadfence();
  __syncthreads();
  if (first_thread) { last = ++*(volatile int*)(count + tile) == 3; if (last) *(volatile int*)(count + tile) = 0; __threadfence(); atomicExch(locks + tile, 0); }
  __syncthreads();
  if (last && in) c[1ll * m * N + n] = T(sum);
}
