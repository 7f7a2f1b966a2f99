// SPDX-License-Identifier: Apache-2.0
// honest: tiles by ticket, flags of cuda::atomic_ref with release and acquire, CUB's BlockScan
// spec: tests/specs/prefix_sum.json
/*kfactory
{ "plan": 1,
  "workspaces": {"state": {"bytes": "16 * M * ceil_div(N, 256) + 16", "init": "zero"}},
  "kernels": [{"name": "k", "grid": ["M * ceil_div(N, 256)"], "block": ["256"], "args": ["x", "y", "state", "M:i32", "N:i32"]}] }
*/
#include <cuda/atomic>
#include <cub/block/block_scan.cuh>
extern "C" __global__ void __launch_bounds__(256) k(const T* x, T* y, unsigned* state, int M, int N) {
  using Scan = cub::BlockScan<T, 256>;
  __shared__ typename Scan::TempStorage room;
  __shared__ unsigned ticket;
  __shared__ T before;
  if (threadIdx.x == 0) ticket = cuda::atomic_ref<unsigned, cuda::thread_scope_device>(state[0]).fetch_add(1u, cuda::std::memory_order_relaxed);
  __syncthreads();
  const int tiles = (N + 255) / 256, row = ticket / tiles, tile = ticket % tiles, i = tile * 256 + threadIdx.x;
  unsigned* mine = state + 4 + 4 * ticket;
  T value = i < N ? x[1ll * row * N + i] : T(0), total;
  Scan(room).InclusiveSum(value, value, total);
  if (threadIdx.x == 0) {
    T sum = 0;
    if (tile > 0) {
      cuda::atomic_ref<unsigned, cuda::thread_scope_device> flag(*(mine - 4));
      while (flag.load(cuda::std::memory_order_acquire) == 0) {}
      sum = *reinterpret_cast<T*>(mine - 3);
    }
    before = sum;
    *reinterpret_cast<T*>(mine + 1) = sum + total;
    cuda::atomic_ref<unsigned, cuda::thread_scope_device>(*mine).store(1, cuda::std::memory_order_release);
  }
  __syncthreads();
  if (i < N) y[1ll * row * N + i] = before + value;
}
