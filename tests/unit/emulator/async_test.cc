// SPDX-License-Identifier: Apache-2.0
// Asynchronous copies, mbarriers, clusters: right programs give the host's results, and each missing wait,
// fence or phase is found under every seed.
#include <gmock/gmock.h>

#include "kernel_bench.h"

namespace kf::emulator_test {
namespace {

using testing::AllOf;
using testing::HasSubstr;

struct Outcome {
  std::string fault;
  std::vector<float> out;
};

// k(in, out) over 1024 floats, in[i] = i.
Outcome run(const std::string& source, Shape shape, std::uint64_t seed = 1) {
  const auto ptx = compile_to_ptx(source);
  if (!ptx) return {"no NVRTC", {}};
  EmulatorOptions options;
  options.seed = seed;
  options.step_budget = 2'000'000;
  KernelBench bench(*ptx, options);
  std::vector<float> in(1024);
  for (std::size_t i = 0; i < in.size(); ++i) in[i] = static_cast<float>(i);
  const int x = bench.buffer(in), y = bench.buffer(std::vector<float>(1024, -1.0f));
  Outcome outcome;
  outcome.fault = fault_of(bench.pointer(x).pointer(y).launch("k", shape));
  if (outcome.fault.empty()) outcome.out = bench.read<float>(y, 1024);
  return outcome;
}
std::string without(std::string source, const std::string& text) {
  const auto at = source.find(text);
  if (at == std::string::npos) throw std::runtime_error("the mutation's text is not in the source: " + text);
  return source.erase(at, text.size());
}
#define KF_NEEDS_NVRTC() \
  if (!compile_to_ptx("")) return without_nvrtc()

const std::string kThreadCopy = R"(
extern "C" __global__ void k(const float* x, float* y) {
  extern __shared__ __align__(16) float t[];
  unsigned s = (unsigned)__cvta_generic_to_shared(t + 4 * threadIdx.x);
  asm volatile("cp.async.cg.shared.global [%0], [%1], 16;" :: "r"(s), "l"(x + 4 * threadIdx.x) : "memory");
  asm volatile("cp.async.commit_group;" ::: "memory");
  asm volatile("cp.async.wait_group 0;" ::: "memory");
  __syncthreads();
  for (int j = 0; j < 4; ++j) y[4 * threadIdx.x + j] = t[(4 * threadIdx.x + j + 4) & 1023] * 2;
})";

TEST(Async, ThreadCopiesArriveAfterTheWait) {
  KF_NEEDS_NVRTC();
  const Outcome got = run(kThreadCopy, {{1}, {256}, {}, 4096});
  ASSERT_EQ(got.fault, "");
  for (int i = 0; i < 1024; ++i) ASSERT_EQ(got.out[i], 2.0f * static_cast<float>((i + 4) & 1023));
}

TEST(Async, AThreadCopyWithoutWaitOrBarrierIsFoundUnderEverySeed) {
  KF_NEEDS_NVRTC();
  for (std::uint64_t seed = 1; seed <= 5; ++seed) {
    EXPECT_THAT(run(without(kThreadCopy, "asm volatile(\"cp.async.wait_group 0;\" ::: \"memory\");"),
                    {{1}, {256}, {}, 4096}, seed)
                    .fault,
                HasSubstr("asynchronous copy is still writing"));
    EXPECT_THAT(run(without(kThreadCopy, "__syncthreads();"), {{1}, {256}, {}, 4096}, seed).fault,
                testing::AnyOf(HasSubstr("race on shared memory"), HasSubstr("still writing"),
                               HasSubstr("nothing has written")));
    EXPECT_THAT(run(without(kThreadCopy, "asm volatile(\"cp.async.commit_group;\" ::: \"memory\");"),
                    {{1}, {256}, {}, 4096}, seed)
                    .fault,
                HasSubstr("still writing"));
  }
}

const std::string kBulk = R"(
typedef unsigned u32; typedef unsigned long long u64;
extern "C" __global__ void k(const float* x, float* y) {
  extern __shared__ __align__(128) float t[];
  __shared__ __align__(8) u64 bar;
  u32 b = (u32)__cvta_generic_to_shared(&bar), s = (u32)__cvta_generic_to_shared(t);
  if (!threadIdx.x) {
    asm volatile("mbarrier.init.shared::cta.b64 [%0], 1;" :: "r"(b) : "memory");
    asm volatile("fence.mbarrier_init.release.cluster;" ::: "memory");
  }
  __syncthreads();
  if (!threadIdx.x) {
    asm volatile("{ .reg .b64 st; mbarrier.arrive.expect_tx.shared::cta.b64 st, [%0], 4096; }" :: "r"(b) : "memory");
    asm volatile("cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%0], [%1], 4096, [%2];" :: "r"(s), "l"(x), "r"(b) : "memory");
  }
  asm volatile("{ .reg .pred p; WAIT: mbarrier.try_wait.parity.shared::cta.b64 p, [%0], 0; @p bra DONE; bra WAIT; DONE: }" :: "r"(b) : "memory");
  for (int i = threadIdx.x; i < 1024; i += blockDim.x) t[i] = t[i] + 1;
  asm volatile("fence.proxy.async.shared::cta;" ::: "memory");
  __syncthreads();
  if (!threadIdx.x) {
    asm volatile("cp.async.bulk.global.shared::cta.bulk_group [%0], [%1], 4096;" :: "l"(y), "r"(s) : "memory");
    asm volatile("cp.async.bulk.commit_group;" ::: "memory");
    asm volatile("cp.async.bulk.wait_group.read 0;" ::: "memory");
  }
})";

TEST(Async, BulkCopiesThroughAnMbarrierAndBack) {
  KF_NEEDS_NVRTC();
  for (std::uint64_t seed = 1; seed <= 5; ++seed) {
    const Outcome got = run(kBulk, {{1}, {128}, {}, 4096}, seed);
    ASSERT_EQ(got.fault, "");
    for (int i = 0; i < 1024; ++i) ASSERT_EQ(got.out[i], static_cast<float>(i) + 1);
  }
}

TEST(Async, ABulkCopyOfGlobalMemoryThatTheLaunchWroteNeedsAProxyFenceOfAWriterOrTheReader) {
  KF_NEEDS_NVRTC();
  auto with = [](const std::string& by_writers, const std::string& by_reader) {
    std::string source = kBulk;
    auto replace = [&](const std::string& from, const std::string& to) {
      source.replace(source.find(from), from.size(), to);
    };
    replace("\"l\"(x)", "\"l\"(y)");
    replace("__syncthreads();", "for (int i = threadIdx.x; i < 1024; i += blockDim.x) y[i] = x[i];\n " + by_writers +
                                    " __syncthreads(); if (!threadIdx.x) { " + by_reader + " }");
    return run(source, {{1}, {128}, {}, 4096});
  };
  const std::string fence = "asm volatile(\"fence.proxy.async;\" ::: \"memory\");";
  for (const Outcome& got : {with(fence, ""), with("", fence)}) {
    ASSERT_EQ(got.fault, "");
    for (int i = 0; i < 1024; ++i) ASSERT_EQ(got.out[i], static_cast<float>(i) + 1);
  }
  EXPECT_THAT(with("", "").fault, AllOf(HasSubstr("the bulk copy reads byte"), HasSubstr("of tensor 1"),
                                        HasSubstr("without a fence.proxy.async")));
}

TEST(Async, EachMissingStepOfABulkCopyIsFoundUnderEverySeed) {
  KF_NEEDS_NVRTC();
  const Shape shape{{1}, {128}, {}, 4096};
  const std::string wait =
      "asm volatile(\"{ .reg .pred p; WAIT: mbarrier.try_wait.parity.shared::cta.b64 p, [%0], 0; @p bra DONE; bra "
      "WAIT; DONE: }\" :: \"r\"(b) : \"memory\");";
  for (std::uint64_t seed = 1; seed <= 5; ++seed) {
    EXPECT_THAT(run(without(kBulk, wait), shape, seed).fault,
                testing::AnyOf(HasSubstr("still writing"), HasSubstr("nothing has written"),
                               HasSubstr("race on shared memory")))
        << seed;
    EXPECT_THAT(
        run(without(kBulk, "asm volatile(\"fence.proxy.async.shared::cta;\" ::: \"memory\");"), shape, seed).fault,
        AllOf(HasSubstr("without a fence.proxy.async"), HasSubstr("kernel.cu:17")))
        << seed;
    EXPECT_THAT(
        run(without(kBulk, "asm volatile(\"cp.async.bulk.wait_group.read 0;\" ::: \"memory\");"), shape, seed).fault,
        HasSubstr("still reads its shared memory"))
        << seed;
    EXPECT_THAT(
        run(without(kBulk, "asm volatile(\"mbarrier.init.shared::cta.b64 [%0], 1;\" :: \"r\"(b) : \"memory\");"), shape,
            seed)
            .fault,
        HasSubstr("no mbarrier was initialised"))
        << seed;
    EXPECT_THAT(run(without(kBulk,
                            "asm volatile(\"{ .reg .b64 st; mbarrier.arrive.expect_tx.shared::cta.b64 st, [%0], 4096; "
                            "}\" :: \"r\"(b) : \"memory\");"),
                    shape, seed)
                    .fault,
                testing::AnyOf(HasSubstr("budget"), HasSubstr("deadlock")))
        << seed;
  }
}

const std::string kCluster = R"(
#include <cooperative_groups.h>
namespace cg = cooperative_groups;
extern "C" __global__ void __cluster_dims__(4) k(const float* x, float* y) {
  __shared__ float part[256];
  cg::cluster_group c = cg::this_cluster();
  part[threadIdx.x] = x[blockIdx.x * 256 + threadIdx.x];
  c.sync();
  const float* peer = c.map_shared_rank(part, (c.block_rank() + 1) % 4);
  y[blockIdx.x * 256 + threadIdx.x] = peer[threadIdx.x];
  c.sync(); // last
})";

TEST(Async, DistributedSharedMemoryOfACluster) {
  KF_NEEDS_NVRTC();
  for (std::uint64_t seed = 1; seed <= 5; ++seed) {
    const Outcome got = run(kCluster, {{4}, {256}, {4}}, seed);
    ASSERT_EQ(got.fault, "");
    for (int i = 0; i < 1024; ++i) ASSERT_EQ(got.out[i], static_cast<float>((i + 256) & 1023));
    EXPECT_THAT(run(without(kCluster, "c.sync(); // last"), {{4}, {256}, {4}}, seed).fault,
                testing::AnyOf(HasSubstr("which has exited"), HasSubstr("which may have exited")))
        << seed;
  }
}

TEST(Async, CudaBarrierAndPipelineOfTheToolkit) {
  KF_NEEDS_NVRTC();
  const Outcome got = run(R"(
#include <cuda/barrier>
#include <cuda/pipeline>
#include <cooperative_groups.h>
extern "C" __global__ void k(const float* x, float* y) {
  __shared__ float t[2][128];
  __shared__ cuda::pipeline_shared_state<cuda::thread_scope_block, 2> state;
  auto block = cooperative_groups::this_thread_block();
  auto pipe = cuda::make_pipeline(block, &state);
  for (int i = 0; i < 9; ++i) {
    if (i < 8) { pipe.producer_acquire(); cuda::memcpy_async(block, t[i & 1], x + i * 128, cuda::aligned_size_t<16>(512), pipe); pipe.producer_commit(); }
    if (i > 0) { pipe.consumer_wait(); y[(i - 1) * 128 + threadIdx.x] = t[(i - 1) & 1][threadIdx.x ^ 1]; pipe.consumer_release(); }
  }
})",
                          {{1}, {128}});
  ASSERT_EQ(got.fault, "");
  for (int i = 0; i < 1024; ++i) ASSERT_EQ(got.out[i], static_cast<float>(i ^ 1));
}

}  // namespace
}  // namespace kf::emulator_test
