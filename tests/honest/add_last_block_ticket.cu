// SPDX-License-Identifier: Apache-2.0
// honest: a ticket in a zero_restored workspace: the last block resets it and writes the tail
// spec: tests/specs/vector_add.json
/*kfactory
{ "plan": 1,
  "workspaces": {"ticket": {"bytes": "4", "init": "zero_restored"}},
  "kernels": [{"name": "k", "grid": ["ceil_div(N, 256)"], "block": ["256"], "args": ["a", "b", "c", "ticket", "N:i32"]}] }
*/
extern "C" __global__ void k(const T* a, const T* b, T* c, unsigned* ticket, int N) {
  __shared__ bool last;
  const int i = blockIdx.x * 256 + threadIdx.x;
  if (i < N - 1) c[i] = static_cast<T>(static_cast<float>(a[i]) + static_cast<float>(b[i]));
  __threadfence();
  __syncthreads();
  if (threadIdx.x == 0) last = atomicAdd(ticket, 1u) == gridDim.x - 1;
  __syncthreads();
  if (last && threadIdx.x == 0) {
    c[N - 1] = static_cast<T>(static_cast<float>(a[N - 1]) + static_cast<float>(b[N - 1]));
    *ticket = 0;
  }
}
