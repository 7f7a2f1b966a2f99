// SPDX-License-Identifier: Apache-2.0
// honest: one warp fetches by bulk copies into a ring of mbarriers, four add and store by bulk copies
// spec: tests/specs/vector_add.json
/*kfactory
{ "plan": 1,
  "kernels": [{"name": "k", "grid": ["min(2, max(1, ceil_div(N, 256)))"], "block": ["160"], "args": ["a", "b", "c", "N:i32"]}] }
*/
__device__ unsigned at(const void* p) { return static_cast<unsigned>(__cvta_generic_to_shared(p)); }
__device__ void wait(unsigned long long* bar, unsigned parity) {
  asm volatile("{ .reg .pred p; again: mbarrier.try_wait.parity.shared::cta.b64 p, [%0], %1; @p bra done; bra again; done: }" :: "r"(at(bar)), "r"(parity) : "memory");
}
extern "C" __global__ void __launch_bounds__(160) k(const T* a, const T* b, T* c, int N) {
  __shared__ __align__(128) T sa[3][256];
  __shared__ __align__(128) T sb[3][256];
  __shared__ __align__(128) T sc[3][256];
  __shared__ __align__(8) unsigned long long full[3], empty[3];
  const int tiles = N / 256;
  if (threadIdx.x == 0) {
    for (int s = 0; s < 3; ++s) {
      asm volatile("mbarrier.init.shared::cta.b64 [%0], 1;" :: "r"(at(&full[s])) : "memory");
      asm volatile("mbarrier.init.shared::cta.b64 [%0], 128;" :: "r"(at(&empty[s])) : "memory");
    }
    asm volatile("fence.mbarrier_init.release.cluster;" ::: "memory");
  }
  __syncthreads();
  if (threadIdx.x >= 128) {
    if (threadIdx.x == 128) {
      int s = 0; unsigned phase = 0;
      for (int t = blockIdx.x; t < tiles; t += gridDim.x) {
        wait(&empty[s], phase ^ 1);
        const int bytes = 256 * sizeof(T);
        asm volatile("mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], %1;" :: "r"(at(&full[s])), "r"(2 * bytes) : "memory");
        asm volatile("cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%0], [%1], %2, [%3];" :: "r"(at(sa[s])), "l"(a + 256 * t), "r"(bytes), "r"(at(&full[s])) : "memory");
        asm volatile("cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%0], [%1], %2, [%3];" :: "r"(at(sb[s])), "l"(b + 256 * t), "r"(bytes), "r"(at(&full[s])) : "memory");
        if (++s == 3) { s = 0; phase ^= 1; }
      }
    }
  } else {
    int s = 0; unsigned phase = 0;
    for (int t = blockIdx.x; t < tiles; t += gridDim.x) {
      wait(&full[s], phase);
      // The store of three rounds ago has read this stage of sc.
      if (threadIdx.x == 0) asm volatile("cp.async.bulk.wait_group.read 2;" ::: "memory");
      asm volatile("bar.sync 1, 128;" ::: "memory");
      for (int i = threadIdx.x; i < 256; i += 128) sc[s][i] = static_cast<T>(static_cast<float>(sa[s][i]) + static_cast<float>(sb[s][i]));
      asm volatile("mbarrier.arrive.shared::cta.b64 _, [%0];" :: "r"(at(&empty[s])) : "memory");
      asm volatile("fence.proxy.async.shared::cta;" ::: "memory");
      asm volatile("bar.sync 1, 128;" ::: "memory");
      if (threadIdx.x == 0) {
        asm volatile("cp.async.bulk.global.shared::cta.bulk_group [%0], [%1], %2;" :: "l"(c + 256 * t), "r"(at(sc[s])), "r"(256 * (int)sizeof(T)) : "memory");
        asm volatile("cp.async.bulk.commit_group;" ::: "memory");
      }
      if (++s == 3) { s = 0; phase ^= 1; }
    }
    if (threadIdx.x == 0) asm volatile("cp.async.bulk.wait_group 0;" ::: "memory");
    if (blockIdx.x == 0) for (int i = tiles * 256 + threadIdx.x; i < N; i += 128) c[i] = static_cast<T>(static_cast<float>(a[i]) + static_cast<float>(b[i]));
  }
}
