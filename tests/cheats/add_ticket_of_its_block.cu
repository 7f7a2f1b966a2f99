// SPDX-License-Identifier: Apache-2.0
// cheat: a ticket for all blocks, drawn by an atomic of a block's scope
// spec: tests/specs/vector_add.json
// refused by: check: checker
// says: reach no other block
// on cuda it may run right by chance
/*kfactory
{ "plan": 1,
  "workspaces": {"ticket": {"bytes": "4", "init": "zero_restored"}},
  "kernels": [{"name": "k", "grid": ["ceil_div(N, 64)"], "block": ["64"], "args": ["a", "b", "c", "ticket", "N:i32"]}] }
*/
extern "C" __global__ void k(const T* a, const T* b, T* c, unsigned* ticket, int N) {
  __shared__ unsigned tile;
  if (threadIdx.x == 0) tile = atomicInc_block(ticket, gridDim.x - 1);
  __syncthreads();
  const int i = tile * 64 + threadIdx.x;
  if (i < N) c[i] = static_cast<T>(static_cast<float>(a[i]) + static_cast<float>(b[i]));
}
