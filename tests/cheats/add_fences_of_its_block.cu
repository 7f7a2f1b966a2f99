// SPDX-License-Identifier: Apache-2.0
// cheat: the last block adds up what others wrote behind fences that reach their own block only
// spec: tests/specs/vector_add.json
// refused by: check: checker
// says: reach no other block
// on cuda it may run right by chance
/*kfactory
{ "plan": 1,
  "workspaces": {"sums": {"bytes": "4 * N + 4"}, "ticket": {"bytes": "4", "init": "zero_restored"}},
  "kernels": [{"name": "k", "grid": ["ceil_div(N, 64)"], "block": ["64"], "args": ["a", "b", "c", "sums", "ticket", "N:i32"]}] }
*/
extern "C" __global__ void k(const T* a, const T* b, T* c, float* sums, unsigned* ticket, int N) {
  __shared__ bool last;
  const int i = blockIdx.x * 64 + threadIdx.x;
  if (i < N) sums[i] = static_cast<float>(a[i]) + static_cast<float>(b[i]);
  __threadfence_block();
  __syncthreads();
  if (threadIdx.x == 0) last = atomicAdd(ticket, 1u) == gridDim.x - 1;
  __syncthreads();
  if (!last) return;
  __threadfence_block();
  if (threadIdx.x == 0) *ticket = 0;
  for (int j = threadIdx.x; j < N; j += 64) c[j] = static_cast<T>(__ldcg(sums + j));
}
