// SPDX-License-Identifier: Apache-2.0
// honest: cuda::pipeline with two stages and cuda::memcpy_async, a persistent grid
// spec: tests/specs/vector_add.json
/*kfactory
{ "plan": 1,
  "kernels": [{"name": "k", "grid": ["min(3, max(1, ceil_div(N, 512)))"], "block": ["128"], "args": ["a", "b", "c", "N:i32"]}] }
*/
#include <cuda/pipeline>
#include <cooperative_groups.h>
namespace cg = cooperative_groups;
extern "C" __global__ void __launch_bounds__(128) k(const T* a, const T* b, T* c, int N) {
  constexpr int kTile = 512, kStages = 2;
  __shared__ alignas(16) T sa[kStages][kTile];
  __shared__ alignas(16) T sb[kStages][kTile];
  __shared__ cuda::pipeline_shared_state<cuda::thread_scope_block, kStages> state;
  auto block = cg::this_thread_block();
  auto pipe = cuda::make_pipeline(block, &state);
  const int tiles = (N + kTile - 1) / kTile;
  int fetched = blockIdx.x, used = blockIdx.x, stage_in = 0, stage_out = 0;
  for (int s = 0; s < kStages; ++s) {
    pipe.producer_acquire();
    if (fetched < tiles) {
      const int n = min(kTile, N - fetched * kTile);
      cuda::memcpy_async(block, sa[stage_in], a + fetched * kTile, sizeof(T) * n, pipe);
      cuda::memcpy_async(block, sb[stage_in], b + fetched * kTile, sizeof(T) * n, pipe);
    }
    pipe.producer_commit();
    fetched += gridDim.x; stage_in ^= 1;
  }
  for (; used < tiles; used += gridDim.x, stage_out ^= 1) {
    pipe.consumer_wait();
    const int n = min(kTile, N - used * kTile);
    for (int i = threadIdx.x; i < n; i += 128) c[used * kTile + i] = static_cast<T>(static_cast<float>(sa[stage_out][i]) + static_cast<float>(sb[stage_out][i]));
    pipe.consumer_release();
    pipe.producer_acquire();
    if (fetched < tiles) {
      const int m = min(kTile, N - fetched * kTile);
      cuda::memcpy_async(block, sa[stage_in], a + fetched * kTile, sizeof(T) * m, pipe);
      cuda::memcpy_async(block, sb[stage_in], b + fetched * kTile, sizeof(T) * m, pipe);
    }
    pipe.producer_commit();
    fetched += gridDim.x; stage_in ^= 1;
  }
}
