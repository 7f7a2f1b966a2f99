// SPDX-License-Identifier: Apache-2.0
// honest: a persistent grid takes tiles from a counter in zero_restored memory; the last block clears it
// spec: tests/specs/vector_add.json
/*kfactory
{ "plan": 1,
  "workspaces": {"next": {"bytes": "8", "init": "zero_restored"}},
  "kernels": [{"name": "k", "grid": ["min(ceil_div(N, 256), resident(k))"], "block": ["128"], "args": ["a", "b", "c", "next", "N:i32"]}] }
*/
#include <cuda/atomic>
extern "C" __global__ void __launch_bounds__(128) k(const T* a, const T* b, T* c, unsigned* next, int N) {
  __shared__ unsigned tile;
  const unsigned tiles = (N + 255) / 256;
  for (;;) {
    if (threadIdx.x == 0) tile = cuda::atomic_ref<unsigned, cuda::thread_scope_device>(next[0]).fetch_add(1, cuda::memory_order_relaxed);
    __syncthreads();
    const unsigned t = tile;
    __syncthreads();
    if (t >= tiles) break;
    for (int i = t * 256 + threadIdx.x; i < min(N, int(t + 1) * 256); i += 128) c[i] = static_cast<T>(static_cast<float>(a[i]) + static_cast<float>(b[i]));
  }
  if (threadIdx.x == 0) {
    cuda::atomic_ref<unsigned, cuda::thread_scope_device> done(next[1]);
    if (done.fetch_add(1, cuda::memory_order_acq_rel) == gridDim.x - 1) {
      cuda::atomic_ref<unsigned, cuda::thread_scope_device>(next[0]).store(0, cuda::memory_order_relaxed);
      done.store(0, cuda::memory_order_relaxed);
    }
  }
}
