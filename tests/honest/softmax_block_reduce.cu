// SPDX-License-Identifier: Apache-2.0
// honest: CUB's BlockReduce, its scratch used twice
// spec: tests/specs/softmax.json
/*kfactory
{ "plan": 1,
  "kernels": [{"name": "k", "grid": ["M"], "block": ["128"], "args": ["x", "y", "N:i32"]}] }
*/
#include <cub/block/block_reduce.cuh>
struct Larger { __device__ float operator()(float a, float b) const { return a != a ? a : b > a || b != b ? b : a; } };
struct Plus { __device__ float operator()(float a, float b) const { return a + b; } };
extern "C" __global__ void __launch_bounds__(128) k(const T* x, T* y, int N) {
  using Reduce = cub::BlockReduce<float, 128, cub::BLOCK_REDUCE_RAKING>;
  __shared__ typename Reduce::TempStorage room;
  __shared__ float shared;
  x += 1ll * blockIdx.x * N; y += 1ll * blockIdx.x * N;
  float most = -INFINITY, sum = 0;
  for (int i = threadIdx.x; i < N; i += 128) most = Larger{}(most, static_cast<float>(x[i]));
  most = Reduce(room).Reduce(most, Larger{});
  if (threadIdx.x == 0) shared = most;
  __syncthreads();
  most = shared;
  for (int i = threadIdx.x; i < N; i += 128) sum += expf(static_cast<float>(x[i]) - most);
  __syncthreads();
  sum = Reduce(room).Reduce(sum, Plus{});
  if (threadIdx.x == 0) shared = sum;
  __syncthreads();
  sum = shared;
  for (int i = threadIdx.x; i < N; i += 128) y[i] = static_cast<T>(expf(static_cast<float>(x[i]) - most) / sum);
}
