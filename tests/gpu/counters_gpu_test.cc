// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cstdlib>

#include "gmock/gmock.h"
#include "gpu/fixture.h"
#include "gpu/test_kernels.h"

namespace kf::gpu_tests {
namespace {

// Names that no chip has stand first, in between and last: what is there is counted all the same.
const std::vector<std::string> kMetrics{"kf__no_such_metric.sum",
                                        "dram__bytes_read.sum",
                                        "kf__nor_this_one.sum",
                                        "dram__bytes_write.sum",
                                        "lts__t_sectors_op_read.sum",
                                        "lts__t_sectors_op_write.sum",
                                        "lts__t_sectors_srcunit_tex_op_read.sum",
                                        "lts__t_sectors_srcunit_ltcfabric.sum",
                                        "lts__t_sector_hit_rate.pct",
                                        "l1tex__t_sectors_pipe_lsu_mem_global_op_ld.sum",
                                        "l1tex__t_requests_pipe_lsu_mem_global_op_ld.sum",
                                        "sm__warps_active.avg.pct_of_peak_sustained_active",
                                        "smsp__inst_executed.sum",
                                        "gpu__time_duration.sum",
                                        "kf__nor_that_one.sum"};

// Reads `bytes` of `from` in half or in whole; writes nothing but a number that nobody expects.
constexpr const char* kRead = R"cuda(
extern "C" __global__ void read_all(const uint4* from, unsigned int* out, long long count) {
  unsigned int sum = 0;
  for (long long i = blockIdx.x * (long long)blockDim.x + threadIdx.x; i < count; i += gridDim.x * (long long)blockDim.x) {
    const uint4 v = from[i];
    sum += v.x ^ v.y ^ v.z ^ v.w;
  }
  if (sum == 0x12345677u) *out = sum;
}
)cuda";

struct Counters : GpuTest {
  // Empty where this machine does not let us read them: the test is then skipped, and says why.
  Map<double> count(ModuleHandle module, const ResolvedPlan& plan, std::vector<BufferHandle> tensors,
                    CacheState state) {
    CountRequest request;
    request.slot = {0, module, &plan, std::move(tensors), {}};
    request.state = state;
    request.metrics = kMetrics;
    request.before_pass = [this]() -> OrFault<void> {
      ++passes;
      return device().settle();
    };
    passes = 0;
    const auto found = device().count(request);
    if (!found) {
      EXPECT_EQ(found.error().kind, DeviceFault::Kind::kUnsupported) << found.error().detail;
      why = found.error().detail;
      return {};
    }
    return *found;
  }
  int passes = 0;
  std::string why;
};

TEST_F(Counters, ReadAndWrittenBytesOfAColdCopyAreItsOwn) {
  constexpr std::int64_t kBytes = 512LL << 20;
  const ModuleHandle module = load(kTestKernels);
  const BufferHandle from = buffer(kBytes), to = buffer(kBytes);
  ASSERT_TRUE(device().poison(from, 1));
  const auto sms = static_cast<std::uint32_t>(device().facts().sm_count);
  const ResolvedPlan plan =
      chain({launch("copy", 8 * sms, 256, {tensor_arg(0), tensor_arg(1), long_arg(kBytes / 16)})});
  const Map<double> found = count(module, plan, {from, to}, CacheState::kCold);
  if (found.empty()) {
    GTEST_SKIP() << why;
  }
  std::printf("%d passes\n", passes);
  for (const auto& [name, value] : found) {
    std::printf("%-56s %.6g\n", name.c_str(), value);
  }
  EXPECT_EQ(found.size(), kMetrics.size() - 3);
  EXPECT_TRUE(std::ranges::none_of(found, [](const auto& of) { return of.first.starts_with("kf__"); }));
  EXPECT_NEAR(found.at("dram__bytes_read.sum"), kBytes, 0.1 * kBytes);
  EXPECT_NEAR(found.at("dram__bytes_write.sum"), kBytes, 0.2 * kBytes);  // a part may stay in the L2
  EXPECT_GE(32 * found.at("lts__t_sectors_op_read.sum"), 0.98 * kBytes);
}

TEST_F(Counters, TellHowMuchWasReadAndFromWhere) {
  constexpr std::int64_t kBytes = 16LL << 20;  // fits the L2
  const ModuleHandle module = load(kRead);
  const BufferHandle from = buffer(kBytes), out = buffer(4);
  ASSERT_TRUE(device().poison(from, 1));
  const auto plan_for = [&](std::int64_t bytes) {
    return chain({launch("read_all", 264, 256, {tensor_arg(0), tensor_arg(1), long_arg(bytes / 16)})});
  };
  const ResolvedPlan all = plan_for(kBytes), half = plan_for(kBytes / 2);
  const Map<double> cold = count(module, all, {from, out}, CacheState::kCold);
  if (cold.empty()) {
    GTEST_SKIP() << why;
  }
  const Map<double> warm = count(module, all, {from, out}, CacheState::kWarm);
  const Map<double> less = count(module, half, {from, out}, CacheState::kCold);
  const auto print = [](const char* name, const Map<double>& of) {
    std::printf("%s: memory %.0f, L2 %.0f, tex %.0f\n", name, of.at("dram__bytes_read.sum"),
                32 * of.at("lts__t_sectors_op_read.sum"), 32 * of.at("lts__t_sectors_srcunit_tex_op_read.sum"));
  };
  print("cold", cold), print("warm", warm), print("half", less);
  EXPECT_GE(cold.at("dram__bytes_read.sum"), 0.9 * kBytes);
  EXPECT_LE(warm.at("dram__bytes_read.sum"), 0.3 * kBytes);
  EXPECT_GE(32 * warm.at("lts__t_sectors_op_read.sum"), 0.98 * kBytes);
  // The L2 counts what crosses between its halves twice, so only the SMs' own sectors tell half from all.
  EXPECT_LE(32 * less.at("lts__t_sectors_srcunit_tex_op_read.sum"), 0.55 * kBytes);
  EXPECT_LE(32 * less.at("lts__t_sectors_op_read.sum"), 0.98 * kBytes);
}

// Loads of the bulk copy engine are loads too.
TEST_F(Counters, SeeWhatBulkCopiesRead) {
  constexpr std::int64_t kBytes = 256LL << 20;
  const auto harness = device().load(*compile(harness::harness_build_request(device().facts().arch)));
  ASSERT_TRUE(harness);
  const BufferHandle from = buffer(kBytes), to = buffer(kBytes);
  ASSERT_TRUE(device().poison(from, 1));
  bool any = false;
  for (const Launch& way : harness::copy_launches(kBytes, device().facts())) {
    if (way.entry != "kf_copy_bulk") {
      continue;
    }
    any = true;
    const ResolvedPlan plan = chain({way});
    const Map<double> found = count(*harness, plan, {from, to}, CacheState::kCold);
    if (found.empty()) {
      device().unload(*harness);
      GTEST_SKIP() << why;
    }
    std::printf("%s: memory %.0f, L2 %.0f, tex %.0f of %.0f\n", way.id.c_str(), found.at("dram__bytes_read.sum"),
                32 * found.at("lts__t_sectors_op_read.sum"), 32 * found.at("lts__t_sectors_srcunit_tex_op_read.sum"),
                static_cast<double>(kBytes));
    EXPECT_GE(32 * found.at("lts__t_sectors_op_read.sum"), 0.98 * kBytes) << way.id;
    EXPECT_GE(found.at("dram__bytes_read.sum"), 0.9 * kBytes) << way.id;
    break;
  }
  EXPECT_TRUE(any);
  device().unload(*harness);
}

}  // namespace
}  // namespace kf::gpu_tests
