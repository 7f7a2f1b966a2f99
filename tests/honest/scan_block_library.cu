// SPDX-License-Identifier: Apache-2.0
// honest: CUB's block scan
// spec: tests/specs/prefix_sum.json
/*kfactory
{ "plan": 1,
  "kernels": [{"name": "k", "grid": ["M"], "block": ["128"], "args": ["x", "y", "N:i32"]}] }
*/
#include <cub/block/block_scan.cuh>
extern "C" __global__ void __launch_bounds__(128) k(const T* x, T* y, int N) {
  using Scan = cub::BlockScan<T, 128>;
  __shared__ typename Scan::TempStorage scratch;
  x += 1ll * blockIdx.x * N;
  y += 1ll * blockIdx.x * N;
  T before = 0;
  for (int first = 0; first < N; first += 128) {
    const int i = first + threadIdx.x;
    T own = i < N ? x[i] : T(0), sum, total;
    Scan(scratch).InclusiveSum(own, sum, total);
    if (i < N) y[i] = before + sum;
    before += total;
    __syncthreads();
  }
}
