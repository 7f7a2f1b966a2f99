// SPDX-License-Identifier: Apache-2.0
// honest: CUB's BlockRadixSort over rounds of 256
// spec: tests/specs/top_k.json
/*kfactory
{ "plan": 1,
  "kernels": [{"name": "k", "grid": ["M"], "block": ["64"], "args": ["x", "value", "index", "N:i32"]}] }
*/
#include <cub/block/block_radix_sort.cuh>
// Rounds of 256: the four best so far and 252 new ones are sorted.
extern "C" __global__ void __launch_bounds__(64) k(const T* x, T* value, int* index, int N) {
  using Sort = cub::BlockRadixSort<unsigned, 64, 4, int>;
  __shared__ typename Sort::TempStorage room;
  __shared__ unsigned best[4];
  __shared__ int where[4];
  if (threadIdx.x < 4) { best[threadIdx.x] = 0; where[threadIdx.x] = -1; }
  __syncthreads();
  x += 1ll * blockIdx.x * N;
  for (int from = 0; from < N; from += 252) {
    unsigned keys[4]; int at[4];
    for (int j = 0; j < 4; ++j) {
      const int e = threadIdx.x * 4 + j;
      if (e < 4) { keys[j] = best[e]; at[j] = where[e]; continue; }
      const int i = from + e - 4;
      if (i < N) { const int bits = __float_as_int(static_cast<float>(x[i]) + 0.0f); keys[j] = bits < 0 ? ~bits : bits | 0x80000000u; at[j] = i; }
      else { keys[j] = 0; at[j] = -1; }
    }
    __syncthreads();
    Sort(room).SortDescending(keys, at);
    if (threadIdx.x == 0) for (int j = 0; j < 4; ++j) { best[j] = keys[j]; where[j] = at[j]; }
    __syncthreads();
  }
  if (threadIdx.x < 4) { index[4 * blockIdx.x + threadIdx.x] = where[threadIdx.x]; value[4 * blockIdx.x + threadIdx.x] = x[where[threadIdx.x]]; }
}
