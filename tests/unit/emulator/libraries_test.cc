// SPDX-License-Identifier: Apache-2.0
// Kernels made of the toolkit's own headers (CUB, cooperative groups, libcu++), results compared with the host's.
#include <algorithm>
#include <numeric>

#include "kernel_bench.h"

namespace kf::emulator_test {
namespace {

// k(in, out, scratch): ints; `seed` chooses the schedule. The scratch is zeros.
std::vector<int> run(const std::string& ptx, const std::vector<int>& in, std::size_t results, const Shape& shape,
                     std::uint64_t seed = 1) {
  EmulatorOptions options;
  options.seed = seed;
  KernelBench bench(ptx, options);
  const int x = bench.buffer(in), y = bench.allocate(static_cast<std::int64_t>(4 * results)),
            z = bench.buffer(std::vector<int>(1024));
  EXPECT_EQ(fault_of(bench.pointer(x).pointer(y).pointer(z).launch("k", shape)), "");
  return bench.read<int>(y, results);
}
std::vector<int> numbers(int count) {
  std::vector<int> in(static_cast<std::size_t>(count));
  for (int i = 0; i < count; ++i) in[static_cast<std::size_t>(i)] = (i * 7919 + i / 13) % 1009 - 500;
  return in;
}
#define KF_HEAD \
  "extern \"C\" __global__ void k(const int* in, int* out, int* scratch) { const int t = threadIdx.x; (void)t;\n"

TEST(Libraries, CubWarpReduceAndScan) {
  KF_COMPILE_OR_SKIP(
      ptx, std::string("#include <cub/warp/warp_reduce.cuh>\n#include <cub/warp/warp_scan.cuh>\n") + KF_HEAD + R"(
    using R = cub::WarpReduce<int>; using S = cub::WarpScan<int>; using H = cub::WarpReduce<int, 16>;
    __shared__ typename R::TempStorage r[4]; __shared__ typename S::TempStorage s[4]; __shared__ typename H::TempStorage h[8];
    const int w = t / 32, v = in[t]; int inclusive, exclusive, total;
    S(s[w]).Scan(v, inclusive, exclusive, 0, [](int a, int b) { return a + b; });
    total = R(r[w]).Reduce(v, [](int a, int b) { return a > b ? a : b; });
    int half = H(h[t / 16]).Sum(v);
    out[t] = inclusive; out[128 + t] = exclusive; if (t % 32 == 0) out[256 + w] = total; if (t % 16 == 0) out[260 + t / 16] = half; })");
  const auto in = numbers(128);
  const auto out = run(ptx, in, 268, {{1}, {128}});
  for (int w = 0; w < 4; ++w) {
    int sum = 0;
    for (int i = 32 * w; i < 32 * w + 32; ++i) {
      EXPECT_EQ(out[128 + i], sum);
      EXPECT_EQ(out[i], sum += in[i]);
    }
    EXPECT_EQ(out[256 + w], *std::max_element(in.begin() + 32 * w, in.begin() + 32 * w + 32));
  }
  for (int h = 0; h < 8; ++h)
    EXPECT_EQ(out[260 + h], std::accumulate(in.begin() + 16 * h, in.begin() + 16 * h + 16, 0));
}

TEST(Libraries, CubBlockLoadExchangeStoreAndMergeSort) {
  KF_COMPILE_OR_SKIP(
      ptx, std::string("#include <cub/block/block_load.cuh>\n#include <cub/block/block_store.cuh>\n"
                       "#include <cub/block/block_exchange.cuh>\n#include <cub/block/block_merge_sort.cuh>\n") +
               KF_HEAD + R"(
    using L = cub::BlockLoad<int, 128, 4, cub::BLOCK_LOAD_WARP_TRANSPOSE>; using W = cub::BlockStore<int, 128, 4, cub::BLOCK_STORE_TRANSPOSE>;
    using E = cub::BlockExchange<int, 128, 4>; using M = cub::BlockMergeSort<int, 128, 4>;
    __shared__ union { typename L::TempStorage l; typename W::TempStorage w; typename E::TempStorage e; typename M::TempStorage m; } u;
    int v[4]; L(u.l).Load(in, v, 500, -1); __syncthreads();
    int s[4]; E(u.e).BlockedToStriped(v, s); for (int j = 0; j < 4; ++j) out[512 + j * 128 + t] = s[j]; __syncthreads();
    M(u.m).Sort(v, [](int a, int b) { return a < b; }); __syncthreads();
    W(u.w).Store(out, v); })");
  auto in = numbers(512);
  const auto out = run(ptx, in, 1024, {{1}, {128}});
  std::fill(in.begin() + 500, in.end(), -1);
  EXPECT_EQ(std::vector<int>(out.begin() + 512, out.end()), in);
  std::ranges::sort(in);
  EXPECT_EQ(std::vector<int>(out.begin(), out.begin() + 512), in);
}

TEST(Libraries, CubBlockHistogramDiscontinuityAndRadixSortOfPairs) {
  KF_COMPILE_OR_SKIP(
      ptx, std::string("#include <cub/block/block_histogram.cuh>\n#include <cub/block/block_discontinuity.cuh>\n"
                       "#include <cub/block/block_radix_sort.cuh>\n") +
               KF_HEAD + R"(
    using H = cub::BlockHistogram<unsigned char, 64, 4, 32>; using D = cub::BlockDiscontinuity<int, 64>; using R = cub::BlockRadixSort<int, 64, 4, int>;
    __shared__ union { typename H::TempStorage h; typename D::TempStorage d; typename R::TempStorage r; } u; __shared__ int counts[32];
    unsigned char c[4]; int keys[4], values[4], heads[4];
    for (int j = 0; j < 4; ++j) { keys[j] = in[4 * t + j] & 31; c[j] = keys[j]; values[j] = 4 * t + j; }
    H(u.h).Histogram(c, counts); __syncthreads(); if (t < 32) out[t] = counts[t];
    R(u.r).Sort(keys, values); __syncthreads();
    D(u.d).FlagHeads(heads, keys, [](int a, int b) { return a != b; });
    for (int j = 0; j < 4; ++j) { out[32 + 4 * t + j] = values[j]; out[288 + 4 * t + j] = heads[j]; } })");
  const auto in = numbers(256);
  const auto out = run(ptx, in, 544, {{1}, {64}});
  std::vector<int> order(256), counts(32);
  std::iota(order.begin(), order.end(), 0);
  std::ranges::stable_sort(order, {}, [&](int i) { return in[i] & 31; });
  for (const int v : in) ++counts[v & 31];
  EXPECT_EQ(std::vector<int>(out.begin(), out.begin() + 32), counts);
  EXPECT_EQ(std::vector<int>(out.begin() + 32, out.begin() + 288), order);
  for (int i = 0; i < 256; ++i)
    EXPECT_EQ(out[288 + i] != 0, i == 0 || (in[order[i]] & 31) != (in[order[i - 1]] & 31)) << i;
}

TEST(Libraries, CooperativeGroupsTilesCoalescedAndLabeledThreads) {
  KF_COMPILE_OR_SKIP(ptx, std::string("#include <cooperative_groups.h>\n#include <cooperative_groups/reduce.h>\n"
                                      "#include <cooperative_groups/scan.h>\nnamespace cg = cooperative_groups;\n") +
                              KF_HEAD + R"(
    auto block = cg::this_thread_block(); auto tile = cg::tiled_partition<8>(block); const int v = in[t];
    out[t] = cg::reduce(tile, v, cg::plus<int>()); out[128 + t] = cg::inclusive_scan(tile, v); out[256 + t] = tile.shfl(v, 3) + tile.meta_group_rank();
    int size = 0; if (v > 0) { auto active = cg::coalesced_threads(); size = active.size() * 100 + active.thread_rank(); } out[384 + t] = size;
    auto warp = cg::tiled_partition<32>(block); auto same = cg::labeled_partition(warp, v & 3); out[512 + t] = cg::reduce(same, v, cg::greater<int>()); })");
  const auto in = numbers(128);
  const auto out = run(ptx, in, 640, {{1}, {128}});
  for (int i = 0; i < 128; ++i) {
    const int tile = i / 8 * 8, warp = i / 32 * 32;
    EXPECT_EQ(out[i], std::accumulate(in.begin() + tile, in.begin() + tile + 8, 0));
    EXPECT_EQ(out[128 + i], std::accumulate(in.begin() + tile, in.begin() + i + 1, 0));
    EXPECT_EQ(out[256 + i], in[tile + 3] + i / 8);
    int positive = 0, rank = 0, most = INT32_MIN;
    for (int k = warp; k < warp + 32; ++k) {
      positive += in[k] > 0;
      rank += in[k] > 0 && k < i;
      if ((in[k] & 3) == (in[i] & 3)) most = std::max(most, in[k]);
    }
    EXPECT_EQ(out[384 + i], in[i] > 0 ? positive * 100 + rank : 0);
    EXPECT_EQ(out[512 + i], most);
  }
}

TEST(Libraries, CudaBarrierWithCompletionFunctionAndDrop) {
  KF_COMPILE_OR_SKIP(ptx, std::string("#include <cuda/barrier>\n") + KF_HEAD + R"(
    __shared__ cuda::barrier<cuda::thread_scope_block> bar; __shared__ int s[64];
    if (t == 0) init(&bar, 64); __syncthreads();
    s[t] = in[t]; int sum = 0;
    for (int k = 0; k < 5; ++k) { bar.arrive_and_wait(); sum += s[(t + k) & 63]; bar.arrive_and_wait(); s[t] += k; }
    out[t] = sum;
    if (t >= 32) { bar.arrive_and_drop(); return; }
    for (int k = 0; k < 3; ++k) { auto token = bar.arrive(); bar.wait(cuda::std::move(token)); out[64 + t] = k; } })");
  const auto in = numbers(64);
  for (std::uint64_t seed = 1; seed <= 4; ++seed) {
    auto s = in;
    std::vector<int> sums(64);
    for (int k = 0; k < 5; ++k) {
      for (int t = 0; t < 64; ++t) sums[t] += s[(t + k) & 63];
      for (int& v : s) v += k;
    }
    const auto out = run(ptx, in, 96, {{1}, {64}}, seed);
    EXPECT_EQ(std::vector<int>(out.begin(), out.begin() + 64), sums);
    EXPECT_EQ(std::vector<int>(out.begin() + 64, out.end()), std::vector<int>(32, 2));
  }
}

TEST(Libraries, CudaPipelineOfProducerAndConsumerThreads) {
  KF_COMPILE_OR_SKIP(ptx, std::string("#include <cooperative_groups.h>\n#include <cuda/pipeline>\n") + KF_HEAD + R"(
    __shared__ int s[2][64]; __shared__ cuda::pipeline_shared_state<cuda::thread_scope_block, 2> state;
    auto block = cooperative_groups::this_thread_block(); const bool producer = t < 64; const int i = t & 63;
    auto pipe = cuda::make_pipeline(block, &state, producer ? cuda::pipeline_role::producer : cuda::pipeline_role::consumer);
    if (producer) for (int k = 0; k < 6; ++k) { pipe.producer_acquire(); cuda::memcpy_async(&s[k & 1][i], in + k * 64 + i, cuda::aligned_size_t<4>(4), pipe); pipe.producer_commit(); }
    else for (int k = 0; k < 6; ++k) { pipe.consumer_wait(); out[k * 64 + i] = s[k & 1][63 - i]; pipe.consumer_release(); } })");
  const auto in = numbers(384);
  for (std::uint64_t seed = 1; seed <= 4; ++seed) {
    const auto out = run(ptx, in, 384, {{1}, {128}}, seed);
    for (int i = 0; i < 384; ++i) ASSERT_EQ(out[i], in[i / 64 * 64 + 63 - i % 64]) << seed << " " << i;
  }
}

TEST(Libraries, LibcuxxAtomicsWaitNotifyFetchMaxAndCompareExchange) {
  KF_COMPILE_OR_SKIP(ptx, std::string("#include <cuda/atomic>\n#include <cuda/std/atomic>\n") + KF_HEAD + R"(
    using Ref = cuda::atomic_ref<int, cuda::thread_scope_device>;
    Ref most(scratch[0]), product(scratch[1]), turn(scratch[2]); cuda::atomic_ref<float, cuda::thread_scope_device> real(*(float*)(scratch + 3));
    const int i = blockIdx.x * 64 + t, v = in[i];
    most.fetch_max(v, cuda::memory_order_relaxed);
    int old = product.load(cuda::memory_order_relaxed); while (!product.compare_exchange_weak(old, old + 1)) {}
    real.fetch_add(1.0f);
    __syncthreads();
    if (t == 0) { turn.wait((int)blockIdx.x - 1, cuda::memory_order_acquire); while (turn.load(cuda::memory_order_acquire) != (int)blockIdx.x) {}
      scratch[16] = scratch[16] * 2 + (int)blockIdx.x; turn.store(blockIdx.x + 1, cuda::memory_order_release); turn.notify_all();
      if (blockIdx.x == gridDim.x - 1) { out[0] = most.load(); out[1] = product.load(); out[2] = scratch[16]; out[3] = (int)real.load(); } } })");
  const auto in = numbers(384);
  for (std::uint64_t seed = 1; seed <= 4; ++seed) {
    const auto out = run(ptx, in, 4, {{6}, {64}}, seed);
    EXPECT_EQ(out[0], *std::max_element(in.begin(), in.end()));
    EXPECT_EQ(out[1], 384);
    int chain = 0;
    for (int b = 0; b < 6; ++b) chain = 2 * chain + b;
    EXPECT_EQ(out[2], chain);
    EXPECT_EQ(out[3], 384);
  }
}

}  // namespace
}  // namespace kf::emulator_test
