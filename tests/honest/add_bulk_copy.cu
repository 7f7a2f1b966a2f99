// SPDX-License-Identifier: Apache-2.0
// honest: a bulk copy with an mbarrier for whole tiles
// spec: tests/specs/vector_add.json
/*kfactory
{ "plan": 1,
  "kernels": [{"name": "k", "grid": ["ceil_div(N, 256)"], "block": ["256"], "args": ["a", "b", "c", "N:i32"]}] }
*/
extern "C" __global__ void __launch_bounds__(256) k(const T* a, const T* b, T* c, int N) {
  __shared__ __align__(128) T tile[256];
  __shared__ __align__(8) unsigned long long barrier;
  const int first = blockIdx.x * 256, i = first + threadIdx.x;
  if (first + 256 > N) {
    if (i < N) c[i] = static_cast<T>(static_cast<float>(a[i]) + static_cast<float>(b[i]));
    return;
  }
  const unsigned mbar = static_cast<unsigned>(__cvta_generic_to_shared(&barrier));
  const unsigned to = static_cast<unsigned>(__cvta_generic_to_shared(tile));
  if (threadIdx.x == 0) {
    asm volatile("mbarrier.init.shared.b64 [%0], 1;" ::"r"(mbar) : "memory");
    asm volatile("fence.mbarrier_init.release.cluster;" ::: "memory");
    asm volatile("mbarrier.arrive.expect_tx.shared.b64 _, [%0], %1;" ::"r"(mbar), "r"(256 * static_cast<int>(sizeof(T))) : "memory");
    asm volatile("cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%0], [%1], %2, [%3];" ::"r"(to), "l"(a + first),
                 "r"(256 * static_cast<int>(sizeof(T))), "r"(mbar) : "memory");
  }
  __syncthreads();
  unsigned done = 0;
  while (done == 0) {
    asm volatile("{ .reg .pred p; mbarrier.try_wait.parity.shared.b64 p, [%1], 0; selp.u32 %0, 1, 0, p; }" : "=r"(done) : "r"(mbar) : "memory");
  }
  c[i] = static_cast<T>(static_cast<float>(tile[threadIdx.x]) + static_cast<float>(b[i]));
}
