// SPDX-License-Identifier: Apache-2.0
// cheat: blocks take tickets; b is left out by those that do not get their own number
// spec: tests/specs/vector_add.json
// refused by: check: mismatch
/*kfactory
{ "plan": 1,
  "workspaces": {"tickets": {"bytes": "4", "init": "zero"}},
  "kernels": [{"name": "k", "grid": ["ceil_div(N, 32)"], "block": ["32"], "args": ["a", "b", "c", "tickets", "N:i32"]}] }
*/
extern "C" __global__ void k(const T* a, const T* b, T* c, unsigned* tickets, int N) {
  unsigned ticket = threadIdx.x == 0 ? atomicAdd(tickets, 1u) : 0u;
  ticket = __shfl_sync(~0u, ticket, 0);
  const int i = blockIdx.x * 32 + threadIdx.x;
  if (i < N) c[i] = static_cast<T>(static_cast<float>(a[i]) + (ticket == blockIdx.x ? static_cast<float>(b[i]) : 0.0f));
}
