// SPDX-License-Identifier: Apache-2.0
// cheat: a bulk copy reads shared memory that no proxy fence has made visible to it
// spec: tests/specs/vector_add.json
// refused by: check: checker
// says: without a fence.proxy.async
// on cuda it may run right by chance
/*kfactory
{ "plan": 1,
  "kernels": [{"name": "k", "grid": ["ceil_div(N, 256)"], "block": ["256"], "args": ["a", "b", "c", "N:i32"]}] }
*/
extern "C" __global__ void __launch_bounds__(256) k(const T* a, const T* b, T* c, int N) {
  __shared__ __align__(128) T tile[256];
  const int first = blockIdx.x * 256, i = first + threadIdx.x;
  if (first + 256 > N || (reinterpret_cast<unsigned long long>(c + first) & 15)) {
    if (i < N) c[i] = static_cast<T>(static_cast<float>(a[i]) + static_cast<float>(b[i]));
    return;
  }
  tile[threadIdx.x] = static_cast<T>(static_cast<float>(a[i]) + static_cast<float>(b[i]));
  __syncthreads();
  if (threadIdx.x == 0) {
    const unsigned from = static_cast<unsigned>(__cvta_generic_to_shared(tile));
    asm volatile("cp.async.bulk.global.shared::cta.bulk_group [%0], [%1], %2;" ::"l"(c + first), "r"(from), "r"(static_cast<unsigned>(sizeof(tile))) : "memory");
    asm volatile("cp.async.bulk.commit_group; cp.async.bulk.wait_group 0;" ::: "memory");
  }
}
