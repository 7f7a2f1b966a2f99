// SPDX-License-Identifier: Apache-2.0
// honest: blocks take turns at a number by a lock with back-off
// spec: tests/specs/vector_add.json
/*kfactory
{ "plan": 1,
  "workspaces": {"lock": {"bytes": "8", "init": "zero_restored"}},
  "kernels": [{"name": "k", "grid": ["min(ceil_div(N, 64), 8)"], "block": ["64"], "args": ["a", "b", "c", "lock", "N:i32"]}] }
*/
// Blocks take turns by a mutex: the next tile is kept in plain memory beneath it.
extern "C" __global__ void k(const T* a, const T* b, T* c, unsigned* lock, int N) {
  __shared__ unsigned mine;
  volatile unsigned* next = lock + 1;
  const unsigned tiles = (N + 63) / 64;
  for (;;) {
    if (threadIdx.x == 0) {
      while (atomicCAS(lock, 0u, 1u) != 0u) __nanosleep(20);
      __threadfence();
      mine = *next;
      *next = mine + 1 == tiles + gridDim.x ? 0 : mine + 1;
      __threadfence();
      atomicExch(lock, 0u);
    }
    __syncthreads();
    const unsigned t = mine;
    __syncthreads();
    if (t >= tiles) return;
    const int i = t * 64 + threadIdx.x;
    if (i < N) c[i] = static_cast<T>(static_cast<float>(a[i]) + static_cast<float>(b[i]));
  }
}
