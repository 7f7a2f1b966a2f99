// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <iterator>
#include <map>

#include "mutants.h"

namespace kf::emulator_test {
namespace {

using Floats = std::vector<float>;

#define KF_KERNEL(...) "extern \"C\" __global__ void " __VA_ARGS__ "k(const float* x, float* y, unsigned* z, int n) "

Floats block_sums(const Floats& x, int n, int each) {
  Floats sums(static_cast<std::size_t>((n + each - 1) / each));
  for (int i = 0; i < n; ++i) sums[static_cast<std::size_t>(i / each)] += x[static_cast<std::size_t>(i)];
  return sums;
}
Floats total(const Floats& x, int n) {
  return block_sums(x, n, n);
}
Floats shifted(const Floats& x, int n, int by) {
  Floats y(static_cast<std::size_t>(n));
  for (int i = 0; i < n; ++i) y[static_cast<std::size_t>(i)] = x[static_cast<std::size_t>((i + by) % n)];
  return y;
}
Floats doubled(const Floats& x, int n) {
  Floats y(static_cast<std::size_t>(n));
  for (std::size_t i = 0; i < y.size(); ++i) y[i] = 2 * x[i];
  return y;
}
Floats prefix(const Floats& x, int n) {
  Floats y(static_cast<std::size_t>(n));
  float sum = 0;
  for (std::size_t i = 0; i < y.size(); ++i) y[i] = sum += x[i];
  return y;
}

RightKernel tree_reduction() {
  return {"tree reduction",
          KF_KERNEL() R"({ __shared__ float s[256]; int t = threadIdx.x, i = blockIdx.x * 256 + t;
  s[t] = 0; if (BOUND(i < n)) s[t] = x[i]; __syncthreads();
  #pragma unroll
  for (int d = 128; d >= 32; d >>= 1) { if (t < d) s[t] += s[t + d]; __syncthreads(); }
  if (t < 32) { float v = s[t]; for (int d = 16; d; d >>= 1) v += __shfl_down_sync(~0u, v, d); if (!t) y[blockIdx.x] = v; } })",
          {{4}, {256}},
          1000,
          [](const Floats& x, int n) { return block_sums(x, n, 256); }};
}
RightKernel shuffle_softmax_like() {
  return {"two reductions through one buffer",
          KF_KERNEL() R"({ __shared__ float s[8]; int t = threadIdx.x, w = t >> 5; float v = x[t], m = v;
  for (int d = 16; d; d >>= 1) m = fmaxf(m, __shfl_xor_sync(~0u, m, d)); if (!(t & 31)) s[w] = m; __syncthreads();
  m = s[0]; for (int i = 1; i < 8; ++i) m = fmaxf(m, s[i]); __syncthreads();
  float e = m - v; for (int d = 16; d; d >>= 1) e += __shfl_xor_sync(~0u, e, d); if (!(t & 31)) s[w] = e; __syncthreads();
  e = 0; for (int i = 0; i < 8; ++i) e += s[i]; y[t] = e; })",
          {{1}, {256}},
          256,
          [](const Floats& x, int n) {
            const float m = *std::max_element(x.begin(), x.begin() + n);
            float e = 0;
            for (int i = 0; i < n; ++i) e += m - x[static_cast<std::size_t>(i)];
            return Floats(static_cast<std::size_t>(n), e);
          }};
}
RightKernel transpose() {
  return {"tiled transpose",
          KF_KERNEL() R"({ __shared__ float s[16][17]; int a = threadIdx.x & 15, b = threadIdx.x >> 4;
  for (int tile = 0; tile < 4; ++tile) { s[b][a] = x[tile * 256 + b * 16 + a]; __syncthreads();
    y[tile * 256 + threadIdx.x] = s[a][b]; __syncthreads(); } })",
          {{1}, {256}},
          1024,
          [](const Floats& x, int n) {
            Floats y(static_cast<std::size_t>(n));
            for (std::size_t i = 0; i < y.size(); ++i) y[i] = x[i / 256 * 256 + i % 16 * 16 + i % 256 / 16];
            return y;
          }};
}
RightKernel stencil() {
  return {"stencil with a halo",
          KF_KERNEL() R"({ __shared__ float s[130]; int t = threadIdx.x, i = blockIdx.x * 128 + t;
  s[t + 1] = BOUND(i < n) ? x[i] : 0.f;
  if (t == 0) s[0] = BOUND(i > 0) ? x[i - 1] : 0.f;
  if (t == 127) s[129] = BOUND(i + 1 < n) ? x[i + 1] : 0.f;
  __syncthreads(); if (BOUND(i < n)) y[i] = s[t] + s[t + 1] + s[t + 2]; })",
          {{8}, {128}},
          1000,
          [](const Floats& x, int n) {
            Floats y(static_cast<std::size_t>(n));
            for (int i = 0; i < n; ++i)
              for (int k = std::max(0, i - 1); k <= std::min(n - 1, i + 1); ++k)
                y[static_cast<std::size_t>(i)] += x[static_cast<std::size_t>(k)];
            return y;
          }};
}
RightKernel last_block() {
  return {"last block adds up",
          KF_KERNEL() R"({ __shared__ float s[4]; __shared__ bool last; int t = threadIdx.x, i = blockIdx.x * 128 + t;
  float v = 0; if (BOUND(i < n)) v = x[i];
  for (int d = 16; d; d >>= 1) v += __shfl_xor_sync(~0u, v, d); if (!(t & 31)) s[t >> 5] = v; __syncthreads();
  float* part = (float*)(z + 16);
  if (!t) { part[blockIdx.x] = s[0] + s[1] + s[2] + s[3]; __threadfence(); last = atomicAdd(z, 1u) == gridDim.x - 1; __threadfence(); }
  __syncthreads();
  if (last && t < 32) { v = 0; for (int b = t; b < gridDim.x; b += 32) v += part[b];
    for (int d = 16; d; d >>= 1) v += __shfl_xor_sync(~0u, v, d); if (!t) y[0] = v; } })",
          {{16}, {128}},
          2000,
          total};
}
RightKernel look_back() {
  return {"scan with look-back",
          KF_KERNEL() R"({ __shared__ float s[4], before; int t = threadIdx.x, i = blockIdx.x * 128 + t, w = t >> 5;
  float v = 0; if (BOUND(i < n)) v = x[i];
  for (int d = 1; d < 32; d <<= 1) { float u = __shfl_up_sync(~0u, v, d); if ((t & 31) >= d) v += u; }
  if ((t & 31) == 31) s[w] = v; __syncthreads();
  for (int k = 0; k < w; ++k) v += s[k];
  float* sum = (float*)(z + 512); float* all = (float*)(z + 1024);
  if (t == 127) {
    unsigned b = blockIdx.x; float p = 0;
    sum[b] = v; __threadfence(); atomicExch(z + b, 1u);
    for (int k = (int)b - 1; k >= 0; --k) {
      unsigned f; while (!(f = atomicAdd(z + k, 0u))) {}
      __threadfence();
      if (f == 2) { p += all[k]; break; } p += sum[k];
    }
    all[b] = p + v; __threadfence(); atomicExch(z + b, 2u); before = p; }
  __syncthreads(); if (BOUND(i < n)) y[i] = before + v; })",
          {{12}, {128}},
          1500,
          prefix};
}
RightKernel look_back_scoped() {
  return {"message chain of release and acquire",
          KF_KERNEL() R"({ float* place = (float*)(z + 512); unsigned b = blockIdx.x, f = 0; float before = 0;
  if (threadIdx.x) return;
  if (b) { do { asm volatile("ld.acquire.gpu.global.u32 %0, [%1];" : "=r"(f) : "l"(z + b - 1) : "memory"); } while (!f);
    before = place[b - 1]; }
  place[b] = before + x[b]; y[b] = before + x[b];
  asm volatile("st.release.gpu.global.u32 [%0], %1;" :: "l"(z + b), "r"(1) : "memory"); })",
          {{32}, {32}},
          32,
          prefix};
}
RightKernel thread_copies() {
  return {"cp.async in two stages",
          KF_KERNEL() R"({ __shared__ __align__(16) float s[2][512]; int t = threadIdx.x;
  auto fetch = [&](int k) { unsigned a = (unsigned)__cvta_generic_to_shared(&s[k & 1][4 * t]);
    asm volatile("cp.async.cg.shared.global [%0], [%1], 16;" :: "r"(a), "l"(x + k * 512 + 4 * t) : "memory");
    asm volatile("cp.async.commit_group;" ::: "memory"); };
  fetch(0);
  for (int k = 0; k < 4; ++k) {
    if (k < 3) { fetch(k + 1); asm volatile("cp.async.wait_group 1;" ::: "memory"); } else asm volatile("cp.async.wait_group 0;" ::: "memory");
    __syncthreads();
    for (int j = 0; j < 4; ++j) y[k * 512 + t + 128 * j] = 2 * s[k & 1][t + 128 * j];
    __syncthreads(); } })",
          {{1}, {128}},
          2048,
          doubled};
}
const std::string kBarrierWords = R"(
__device__ unsigned at(void* p) { return (unsigned)__cvta_generic_to_shared(p); }
__device__ void init(void* b, int n) { asm volatile("mbarrier.init.shared::cta.b64 [%0], %1;" :: "r"(at(b)), "r"(n) : "memory"); }
__device__ void expect(void* b, int n) { asm volatile("{ .reg .b64 t; mbarrier.arrive.expect_tx.shared::cta.b64 t, [%0], %1; }" :: "r"(at(b)), "r"(n) : "memory"); }
__device__ void arrive(void* b) { asm volatile("{ .reg .b64 t; mbarrier.arrive.shared::cta.b64 t, [%0]; }" :: "r"(at(b)) : "memory"); }
__device__ void wait(void* b, int phase) { unsigned done; do { asm volatile("{ .reg .pred p; mbarrier.try_wait.parity.shared::cta.b64 p, [%1], %2; selp.u32 %0, 1, 0, p; }" : "=r"(done) : "r"(at(b)), "r"(phase) : "memory"); } while (!done); }
__device__ void load(void* to, const void* from, int bytes, void* b) { asm volatile("cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%0], [%1], %2, [%3];" :: "r"(at(to)), "l"(from), "r"(bytes), "r"(at(b)) : "memory"); }
)";
RightKernel bulk_copy() {
  return {"bulk copy in and out",
          kBarrierWords +
              KF_KERNEL() R"({ __shared__ __align__(128) float s[1024]; __shared__ __align__(8) unsigned long long bar;
  if (!threadIdx.x) { init(&bar, 1); asm volatile("fence.mbarrier_init.release.cluster;" ::: "memory"); }
  __syncthreads();
  if (!threadIdx.x) { expect(&bar, 4096); load(s, x, 4096, &bar); }
  wait(&bar, 0);
  for (int i = threadIdx.x; i < 1024; i += 128) s[i] *= 2;
  asm volatile("fence.proxy.async.shared::cta;" ::: "memory"); __syncthreads();
  if (!threadIdx.x) { asm volatile("cp.async.bulk.global.shared::cta.bulk_group [%0], [%1], 4096;" :: "l"(y), "r"(at(s)) : "memory");
    asm volatile("cp.async.bulk.commit_group;" ::: "memory"); asm volatile("cp.async.bulk.wait_group.read 0;" ::: "memory"); } })",
          {{1}, {128}},
          1024,
          doubled};
}
RightKernel ring() {
  return {
      "ring of two stages with a producer warp",
      kBarrierWords +
          KF_KERNEL() R"({ __shared__ __align__(128) float s[2][256]; __shared__ __align__(8) unsigned long long full[2], empty[2];
  int t = threadIdx.x;
  if (!t) { init(&full[0], 1); init(&full[1], 1); init(&empty[0], 128); init(&empty[1], 128); asm volatile("fence.mbarrier_init.release.cluster;" ::: "memory"); }
  __syncthreads();
  if (t == 128) { for (int k = 0; k < 8; ++k) { if (k >= 2) wait(&empty[k & 1], (k / 2 - 1) & 1); expect(&full[k & 1], 1024); load(s[k & 1], x + k * 256, 1024, &full[k & 1]); } }
  if (t < 128) for (int k = 0; k < 8; ++k) { wait(&full[k & 1], k / 2 & 1);
    y[k * 256 + t] = 2 * s[k & 1][t]; y[k * 256 + t + 128] = 2 * s[k & 1][t + 128]; arrive(&empty[k & 1]); } })",
      {{1}, {160}},
      2048,
      doubled};
}
RightKernel cluster() {
  return {"exchange inside a cluster",
          R"(#include <cooperative_groups.h>
namespace cg = cooperative_groups;
)" KF_KERNEL("__cluster_dims__(4) ") R"({ __shared__ float part[256]; auto c = cg::this_cluster(); int t = threadIdx.x;
  part[t] = x[blockIdx.x * 256 + t]; c.sync();
  y[blockIdx.x * 256 + t] = c.map_shared_rank(part, (c.block_rank() + 1) % 4)[t]; c.sync(); })",
          {{4}, {256}, {4}},
          1024,
          [](const Floats& x, int n) { return shifted(x, n, 256); }};
}
RightKernel grid_barrier() {
  return {"two phases of a cooperative grid",
          R"(#include <cooperative_groups.h>
)" KF_KERNEL() R"({ float* w = (float*)(z + 64); int i = blockIdx.x * 128 + threadIdx.x; w[i] = 2 * x[i];
  cooperative_groups::this_grid().sync(); y[i] = w[(i + 128) % n] / 2; })",
          {{8}, {128}, {}, 0, true},
          1024,
          [](const Floats& x, int n) { return shifted(x, n, 128); }};
}
RightKernel warp_exchange() {
  return {"exchange inside a warp",
          KF_KERNEL() R"({ __shared__ float s[128]; int t = threadIdx.x, i = blockIdx.x * 128 + t;
  if (BOUND(i < n)) s[t] = x[i]; else s[t] = 0;
  __syncwarp(); float v = s[t ^ 1]; __syncwarp(); s[t] = v + 1; __syncwarp(); v = s[t ^ 2];
  if (BOUND(i < n)) y[i] = v - 1; })",
          {{8}, {128}},
          1000,
          [](const Floats& x, int n) {
            Floats y(static_cast<std::size_t>(n));
            for (int i = 0; i < n; ++i) y[static_cast<std::size_t>(i)] = x[static_cast<std::size_t>(i ^ 3)];
            return y;
          }};
}
RightKernel named_barriers() {
  return {"named barriers between two halves",
          KF_KERNEL() R"({ __shared__ float s[64]; int t = threadIdx.x & 63;
  if (threadIdx.x < 64) for (int k = 0; k < 4; ++k) {
    if (k) asm volatile("bar.sync 2, 128;" ::: "memory");
    s[t] = 2 * x[k * 64 + t]; asm volatile("bar.arrive 1, 128;" ::: "memory"); }
  else for (int k = 0; k < 4; ++k) {
    asm volatile("bar.sync 1, 128;" ::: "memory"); y[k * 64 + t] = s[63 - t];
    if (k < 3) asm volatile("bar.arrive 2, 128;" ::: "memory"); } })",
          {{1}, {128}},
          256,
          [](const Floats& x, int n) {
            Floats y(static_cast<std::size_t>(n));
            for (std::size_t i = 0; i < y.size(); ++i) y[i] = 2 * x[i / 64 * 64 + 63 - i % 64];
            return y;
          }};
}
RightKernel histogram() {
  return {"histogram in shared memory",
          KF_KERNEL() R"({ __shared__ unsigned h[32]; int t = threadIdx.x; if (t < 32) h[t] = 0; __syncthreads();
  for (int i = blockIdx.x * 128 + t; BOUND(i < n); i += 512) { atomicAdd(&h[(int)x[i] + 11], 1u); if (i >= 8192) break; } __syncthreads();
  if (t < 32) atomicAdd(z + 8 + t, h[t]);
  __threadfence(); __syncthreads(); __shared__ unsigned ticket; if (!t) { ticket = atomicAdd(z, 1u); __threadfence(); } __syncthreads();
  if (ticket == 3 && t < 32) y[t] = (float)z[8 + t]; })",
          {{4}, {128}},
          2000,
          [](const Floats& x, int n) {
            Floats y(32);
            for (int i = 0; i < n; ++i) ++y[static_cast<std::size_t>(x[static_cast<std::size_t>(i)]) + 11];
            return y;
          }};
}
RightKernel turns() {
  return {"blocks that take turns",
          KF_KERNEL() R"({ int t = threadIdx.x; float* sum = (float*)(z + 64);
  if (!t) { while (atomicAdd(z, 0u) != blockIdx.x) {} __threadfence(); } __syncthreads();
  float v = x[blockIdx.x * 64 + t]; if (blockIdx.x) v += sum[t];
  if (blockIdx.x == gridDim.x - 1) y[t] = v; else sum[t] = v;
  __threadfence(); __syncthreads(); if (!t) atomicAdd(z, 1u); })",
          {{12}, {64}},
          768,
          [](const Floats& x, int n) {
            Floats y(64);
            for (int i = 0; i < n; ++i) y[static_cast<std::size_t>(i % 64)] += x[static_cast<std::size_t>(i)];
            return y;
          }};
}
RightKernel library_atomics() {
  return {"cuda::atomic_ref between blocks",
          R"(#include <cuda/atomic>
)" KF_KERNEL() R"({ cuda::atomic_ref<unsigned, cuda::thread_scope_device> flag(z[0]); float* box = (float*)(z + 64); int t = threadIdx.x;
  if (blockIdx.x == 0) { box[t] = 2 * x[t]; __syncthreads(); if (!t) flag.store(1, cuda::memory_order_release); }
  else { if (!t) while (flag.load(cuda::memory_order_acquire) == 0) {} __syncthreads(); if (blockIdx.x == 1) y[t] = box[t]; } })",
          {{2}, {128}},
          128,
          doubled};
}

}  // namespace

const std::vector<RightKernel>& right_kernels() {
  static const std::vector<RightKernel> all = [] {
    std::vector<RightKernel> made = {
        tree_reduction(),   shuffle_softmax_like(), transpose(), stencil(), last_block(),     look_back(),
        look_back_scoped(), thread_copies(),        bulk_copy(), ring(),    cluster(),        grid_barrier(),
        warp_exchange(),    named_barriers(),       histogram(), turns(),   library_atomics()};
    std::ranges::move(more_right_kernels(), std::back_inserter(made));
    return made;
  }();
  return all;
}

}  // namespace kf::emulator_test
