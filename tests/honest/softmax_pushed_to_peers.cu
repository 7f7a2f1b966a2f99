// SPDX-License-Identifier: Apache-2.0
// honest: four blocks of a cluster push partial results to each other by st.async
// spec: tests/specs/softmax.json
/*kfactory
{ "plan": 1,
  "kernels": [{"name": "k", "grid": ["4 * M"], "block": ["64"], "cluster": ["4"], "args": ["x", "y", "N:i32"]}] }
*/
// Partial results are pushed into each peer with st.async and an mbarrier.
__device__ unsigned at(const void* p) { return static_cast<unsigned>(__cvta_generic_to_shared(p)); }
extern "C" __global__ void k(const T* x, T* y, int N) {
  __shared__ float2 parts[4];
  __shared__ float most_of[2], sum_of[2];
  __shared__ __align__(8) unsigned long long bar;
  unsigned rank;
  asm("mov.u32 %0, %%cluster_ctarank;" : "=r"(rank));
  x += 1ll * (blockIdx.x / 4) * N; y += 1ll * (blockIdx.x / 4) * N;
  if (threadIdx.x == 0) {
    asm volatile("mbarrier.init.shared::cta.b64 [%0], 1;" :: "r"(at(&bar)) : "memory");
    asm volatile("mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], 32;" :: "r"(at(&bar)) : "memory");
  }
  asm volatile("barrier.cluster.arrive.release.aligned;\n barrier.cluster.wait.acquire.aligned;" ::: "memory");
  const int part = (N + 3) / 4, first = min(N, (int)rank * part), last = min(N, first + part);
  const auto larger = [](float a, float b) { return a != a ? a : b > a || b != b ? b : a; };
  float most = -INFINITY, sum = 0.0f;
  for (int i = first + threadIdx.x; i < last; i += 64) most = larger(most, static_cast<float>(x[i]));
  for (int d = 16; d > 0; d /= 2) most = larger(most, __shfl_xor_sync(~0u, most, d));
  if (threadIdx.x % 32 == 0) most_of[threadIdx.x / 32] = most;
  __syncthreads();
  most = larger(most_of[0], most_of[1]);
  for (int i = first + threadIdx.x; i < last; i += 64) sum += most == -INFINITY ? 0.0f : expf(static_cast<float>(x[i]) - most);
  for (int d = 16; d > 0; d /= 2) sum += __shfl_xor_sync(~0u, sum, d);
  if (threadIdx.x % 32 == 0) sum_of[threadIdx.x / 32] = sum;
  __syncthreads();
  sum = sum_of[0] + sum_of[1];
  if (threadIdx.x < 4) {
    unsigned there, theirs;
    asm volatile("mapa.shared::cluster.u32 %0, %1, %2;" : "=r"(there) : "r"(at(&parts[rank])), "r"(threadIdx.x));
    asm volatile("mapa.shared::cluster.u32 %0, %1, %2;" : "=r"(theirs) : "r"(at(&bar)), "r"(threadIdx.x));
    asm volatile("st.async.shared::cluster.mbarrier::complete_tx::bytes.v2.f32 [%0], {%1, %2}, [%3];" :: "r"(there), "f"(most), "f"(sum), "r"(theirs) : "memory");
  }
  unsigned done = 0;
  while (!done) asm volatile("{ .reg .pred p; mbarrier.try_wait.parity.acquire.cluster.shared::cta.b64 p, [%1], 0; selp.u32 %0, 1, 0, p; }" : "=r"(done) : "r"(at(&bar)) : "memory");
  float all = -INFINITY, total = 0.0f;
  for (int p = 0; p < 4; ++p) all = larger(all, parts[p].x);
  for (int p = 0; p < 4; ++p) total += parts[p].x == -INFINITY && all != -INFINITY ? 0.0f : parts[p].y * expf(parts[p].x - all);
  if (all == INFINITY || all == -INFINITY) total = NAN;
  for (int i = first + threadIdx.x; i < last; i += 64) y[i] = static_cast<T>(expf(static_cast<float>(x[i]) - all) / total);
  asm volatile("barrier.cluster.arrive.aligned;\n barrier.cluster.wait.aligned;" ::: "memory");
}
