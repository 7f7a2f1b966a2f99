// SPDX-License-Identifier: Apache-2.0
// Right kernels of the kinds that right_kernels.cc has none of.
#include <algorithm>

#include "mutants.h"

namespace kf::emulator_test {
namespace {

using Floats = std::vector<float>;

#define KF_KERNEL(...) "extern \"C\" __global__ void " __VA_ARGS__ "k(const float* x, float* y, unsigned* z, int n) "

std::size_t at(int i) {
  return static_cast<std::size_t>(i);
}
Floats scaled(const Floats& x, int n, float by) {
  Floats y(at(n));
  for (std::size_t i = 0; i < y.size(); ++i) y[i] = by * x[i];
  return y;
}

RightKernel tiled_product() {
  return {
      "tiled matrix product",
      KF_KERNEL() R"({ __shared__ float a[16][17], b[16][17]; int c = threadIdx.x & 15, r = threadIdx.x >> 4; float s = 0;
  for (int t = 0; t < n; t += 16) {
    a[r][c] = BOUND(t + c < n) ? x[r * n + t + c] : 0.f; b[r][c] = BOUND(t + r < n) ? x[(t + r) * 16 + c] : 0.f; __syncthreads();
    #pragma unroll 1
    for (int k = 0; k < 16; ++k) s += a[r][k] * b[k][c];
    __syncthreads(); }
  y[threadIdx.x] = s; })",
      {{1}, {256}},
      40,
      [](const Floats& x, int n) {
        Floats y(256);
        for (int r = 0; r < 16; ++r)
          for (int c = 0; c < 16; ++c)
            for (int k = 0; k < n; ++k) y[at(r * 16 + c)] += x[at(r * n + k)] * x[at(k * 16 + c)];
        return y;
      },
      640};
}
RightKernel bitonic_sort() {
  return {"bitonic sort in shared memory",
          KF_KERNEL() R"({ __shared__ float s[256]; int t = threadIdx.x; s[t] = x[t]; __syncthreads();
  #pragma unroll 1
  for (int k = 2; k <= 256; k *= 2) {
    #pragma unroll 1
    for (int j = k / 2; j; j /= 2) { int o = t ^ j;
      if (o > t && (s[t] > s[o]) == ((t & k) == 0)) { float v = s[t]; s[t] = s[o]; s[o] = v; } __syncthreads(); } }
  y[t] = s[t]; })",
          {{1}, {256}},
          256,
          [](const Floats& x, int n) {
            Floats y(x.begin(), x.begin() + n);
            std::ranges::sort(y);
            return y;
          }};
}
RightKernel two_level_scan() {
  return {"scan in two levels",
          KF_KERNEL() R"({ __shared__ float s[8]; int t = threadIdx.x, w = t >> 5, l = t & 31; float v = x[t];
  for (int d = 1; d < 32; d <<= 1) { float u = __shfl_up_sync(~0u, v, d); if (l >= d) v += u; }
  if (l == 31) s[w] = v; __syncthreads();
  if (w == 0) { float p = l < 8 ? s[l] : 0; for (int d = 1; d < 8; d <<= 1) { float u = __shfl_up_sync(~0u, p, d); if (l >= d) p += u; } if (l < 8) s[l] = p; }
  __syncthreads(); if (w) v += s[w - 1]; y[t] = v; })",
          {{1}, {256}},
          256,
          [](const Floats& x, int n) {
            Floats y(at(n));
            float sum = 0;
            for (std::size_t i = 0; i < y.size(); ++i) y[i] = sum += x[i];
            return y;
          }};
}
RightKernel volatile_message() {
  return {
      "volatile data and flag with fences",
      KF_KERNEL() R"({ volatile float* data = (volatile float*)(z + 64); volatile unsigned* flag = z; int t = threadIdx.x;
  if (t) return;
  if (blockIdx.x) { while (!flag[blockIdx.x - 1]) {} __threadfence(); }
  float before = blockIdx.x ? data[blockIdx.x - 1] : 0.f; data[blockIdx.x] = before + x[blockIdx.x]; y[blockIdx.x] = before + x[blockIdx.x];
  __threadfence(); flag[blockIdx.x] = 1; })",
      {{24}, {32}},
      24,
      [](const Floats& x, int n) {
        Floats y(at(n));
        float sum = 0;
        for (std::size_t i = 0; i < y.size(); ++i) y[i] = sum += x[i];
        return y;
      }};
}
RightKernel relaxed_message() {
  return {
      "relaxed data behind a fence and a relaxed flag",
      R"(__device__ void put(void* p, unsigned v) { asm volatile("st.relaxed.gpu.global.u32 [%0], %1;" :: "l"(p), "r"(v) : "memory"); }
__device__ unsigned get(void* p) { unsigned v; asm volatile("ld.relaxed.gpu.global.u32 %0, [%1];" : "=r"(v) : "l"(p) : "memory"); return v; }
)" KF_KERNEL() R"({ unsigned* data = z + 256; int t = threadIdx.x;
  if (blockIdx.x == 0) { for (int j = 0; j < 4; ++j) put(data + 4 * t + j, __float_as_uint(3 * x[4 * t + j])); asm volatile("fence.acq_rel.gpu;" ::: "memory"); put(z + t, 1); }
  else { while (!get(z + t)) {} asm volatile("fence.acq_rel.gpu;" ::: "memory"); if (blockIdx.x == 1) for (int j = 0; j < 4; ++j) y[4 * t + j] = __uint_as_float(get(data + 4 * t + j)); } })",
      {{2}, {64}},
      256,
      [](const Floats& x, int n) { return scaled(x, n, 3); }};
}
RightKernel reductions_and_ticket() {
  return {"reductions, then a ticket",
          KF_KERNEL() R"({ int t = threadIdx.x, i = blockIdx.x * 64 + t; __shared__ unsigned ticket;
  if (BOUND(i < n)) asm volatile("red.relaxed.gpu.global.add.f32 [%0], %1;" :: "l"(z + 64 + (t & 15)), "f"(x[i]) : "memory");
  __threadfence(); __syncthreads();
  if (!t) { ticket = atomicAdd(z, 1u); __threadfence(); } __syncthreads();
  if (ticket == gridDim.x - 1 && t < 16) y[t] = *(volatile float*)(z + 64 + t); })",
          {{10}, {64}},
          600,
          [](const Floats& x, int n) {
            Floats y(16);
            for (int i = 0; i < n; ++i) y[at(i & 15)] += x[at(i)];
            return y;
          }};
}
const std::string kBarrierWords = R"(
__device__ unsigned at(void* p) { return (unsigned)__cvta_generic_to_shared(p); }
__device__ void init(void* b, int n) { asm volatile("mbarrier.init.shared::cta.b64 [%0], %1;" :: "r"(at(b)), "r"(n) : "memory"); }
__device__ void arrive(void* b) { asm volatile("{ .reg .b64 t; mbarrier.arrive.shared::cta.b64 t, [%0]; }" :: "r"(at(b)) : "memory"); }
__device__ void wait(void* b, int phase) { unsigned done; do { asm volatile("{ .reg .pred p; mbarrier.try_wait.parity.shared::cta.b64 p, [%1], %2; selp.u32 %0, 1, 0, p; }" : "=r"(done) : "r"(at(b)), "r"(phase) : "memory"); } while (!done); }
)";
RightKernel copies_that_arrive() {
  return {
      "cp.async that arrives at an mbarrier",
      kBarrierWords +
          KF_KERNEL() R"({ __shared__ __align__(16) float s[2][512]; __shared__ __align__(8) unsigned long long full[2], empty[2]; int t = threadIdx.x;
  if (!t) { init(&full[0], 128); init(&full[1], 128); init(&empty[0], 128); init(&empty[1], 128); } __syncthreads();
  if (t >= 128) { int c = t - 128; for (int k = 0; k < 6; ++k) { if (k >= 2) wait(&empty[k & 1], (k / 2 - 1) & 1);
      asm volatile("cp.async.cg.shared.global [%0], [%1], 16;" :: "r"(at(&s[k & 1][4 * c])), "l"(x + k * 512 + 4 * c) : "memory");
      asm volatile("cp.async.mbarrier.arrive.noinc.shared::cta.b64 [%0];" :: "r"(at(&full[k & 1])) : "memory"); } }
  else for (int k = 0; k < 6; ++k) { wait(&full[k & 1], k / 2 & 1); for (int j = 0; j < 4; ++j) y[k * 512 + t + 128 * j] = 2 * s[k & 1][511 - t - 128 * j]; arrive(&empty[k & 1]); } })",
      {{1}, {256}},
      3072,
      [](const Floats& x, int n) {
        Floats y(at(n));
        for (int i = 0; i < n; ++i) y[at(i)] = 2 * x[at(i / 512 * 512 + 511 - i % 512)];
        return y;
      }};
}
RightKernel stores_to_a_peer() {
  return {
      "st.async to the next block of a cluster",
      R"(#include <cooperative_groups.h>
namespace cg = cooperative_groups;
)" + kBarrierWords +
          KF_KERNEL(
              "__cluster_dims__(4) ") R"({ __shared__ float box[128]; __shared__ __align__(8) unsigned long long full; int t = threadIdx.x; auto c = cg::this_cluster();
  if (!t) { init(&full, 1); asm volatile("{ .reg .b64 t; mbarrier.arrive.expect_tx.shared::cta.b64 t, [%0], 512; }" :: "r"(at(&full)) : "memory"); asm volatile("fence.mbarrier_init.release.cluster;" ::: "memory"); }
  c.sync();
  unsigned to, bar, rank = (c.block_rank() + 1) % 4;
  asm volatile("mapa.shared::cluster.u32 %0, %1, %2;" : "=r"(to) : "r"(at(box + t)), "r"(rank));
  asm volatile("mapa.shared::cluster.u32 %0, %1, %2;" : "=r"(bar) : "r"(at(&full)), "r"(rank));
  asm volatile("st.async.shared::cluster.mbarrier::complete_tx::bytes.u32 [%0], %1, [%2];" :: "r"(to), "r"(__float_as_uint(x[blockIdx.x * 128 + t])), "r"(bar) : "memory");
  wait(&full, 0); y[blockIdx.x * 128 + t] = box[127 - t]; c.sync(); })",
      {{4}, {128}, {4}},
      512,
      [](const Floats& x, int n) {
        Floats y(at(n));
        for (int i = 0; i < n; ++i) y[at(i)] = x[at((i / 128 + 3) % 4 * 128 + 127 - i % 128)];
        return y;
      }};
}
RightKernel warp_lists() {
  return {"lists of each warp through shared memory",
          KF_KERNEL() R"({ __shared__ float s[4][32]; int w = threadIdx.x >> 5, l = threadIdx.x & 31;
  #pragma unroll 1
  for (int k = 0; k < 4; ++k) { float v = x[k * 128 + threadIdx.x]; unsigned keep = __ballot_sync(~0u, v > 0); int place = __popc(keep & ((1u << l) - 1));
    if (v > 0) s[w][place] = v; __syncwarp(); float out = l < __popc(keep) ? s[w][__popc(keep) - 1 - l] : 0.f; __syncwarp(); y[k * 128 + threadIdx.x] = out; } })",
          {{1}, {128}},
          512,
          [](const Floats& x, int n) {
            Floats y(at(n));
            for (int first = 0; first < n; first += 32) {
              Floats kept;
              for (int i = first; i < first + 32; ++i)
                if (x[at(i)] > 0) kept.push_back(x[at(i)]);
              std::ranges::reverse(kept);
              std::ranges::copy(kept, y.begin() + first);
            }
            return y;
          }};
}
RightKernel three_stages() {
  return {"cp.async in three stages with waits of one",
          KF_KERNEL() R"({ __shared__ __align__(16) float s[3][256]; int t = threadIdx.x;
  auto fetch = [&](int k) { if (k < 8) { unsigned a = (unsigned)__cvta_generic_to_shared(&s[k % 3][4 * t]);
    asm volatile("cp.async.cg.shared.global [%0], [%1], 16;" :: "r"(a), "l"(x + k * 256 + 4 * t) : "memory"); }
    asm volatile("cp.async.commit_group;" ::: "memory"); };
  fetch(0); fetch(1);
  #pragma unroll 1
  for (int k = 0; k < 8; ++k) { asm volatile("cp.async.wait_group 1;" ::: "memory"); __syncthreads(); fetch(k + 2);
    for (int j = 0; j < 4; ++j) y[k * 256 + t + 64 * j] = 5 * s[k % 3][255 - t - 64 * j]; } })",
          {{1}, {64}},
          2048,
          [](const Floats& x, int n) {
            Floats y(at(n));
            for (int i = 0; i < n; ++i) y[at(i)] = 5 * x[at(i / 256 * 256 + 255 - i % 256)];
            return y;
          }};
}
RightKernel semaphore() {
  return {
      "sums under a lock",
      KF_KERNEL() R"({ int t = threadIdx.x; float v = 0; for (int i = blockIdx.x * 32 + t; BOUND(i < n); i += gridDim.x * 32) { v += x[i]; if (i > 8192) break; }
  for (int d = 16; d; d >>= 1) v += __shfl_down_sync(~0u, v, d);
  if (t == 0) { while (atomicCAS(z, 0u, 1u)) {} __threadfence(); float* sum = (float*)(z + 64); *sum += v; unsigned done = ++z[65];
    if (done == gridDim.x) y[0] = *sum; __threadfence(); atomicExch(z, 0u); } })",
      {{9}, {32}},
      1000,
      [](const Floats& x, int n) {
        float sum = 0;
        for (int i = 0; i < n; ++i) sum += x[at(i)];
        return Floats{sum};
      }};
}
RightKernel library_barrier() {
  return {"cuda::barrier between producer and consumer",
          R"(#include <cuda/barrier>
)" KF_KERNEL() R"({ using B = cuda::barrier<cuda::thread_scope_block>; __shared__ float s[2][64]; __shared__ B full[2], empty[2]; int t = threadIdx.x & 63;
  if (threadIdx.x == 0) { init(&full[0], 128); init(&full[1], 128); init(&empty[0], 128); init(&empty[1], 128); } __syncthreads();
  if (threadIdx.x >= 64) { (void)empty[0].arrive(); (void)empty[1].arrive(); for (int k = 0; k < 4; ++k) { full[k & 1].arrive_and_wait(); y[k * 64 + t] = 2 * s[k & 1][63 - t]; (void)empty[k & 1].arrive(); } }
  else for (int k = 0; k < 4; ++k) { empty[k & 1].arrive_and_wait(); s[k & 1][t] = x[k * 64 + t]; (void)full[k & 1].arrive(); } })",
          {{1}, {128}},
          256,
          [](const Floats& x, int n) {
            Floats y(at(n));
            for (int i = 0; i < n; ++i) y[at(i)] = 2 * x[at(i / 64 * 64 + 63 - i % 64)];
            return y;
          }};
}

}  // namespace

std::vector<RightKernel> more_right_kernels() {
  return {tiled_product(),   bitonic_sort(),          two_level_scan(),     volatile_message(),
          relaxed_message(), reductions_and_ticket(), copies_that_arrive(), stores_to_a_peer(),
          warp_lists(),      three_stages(),          semaphore(),          library_barrier()};
}

}  // namespace kf::emulator_test
