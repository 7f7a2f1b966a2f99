// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>

#include <kfactory/estimate.h>

namespace kf {
namespace {

LaunchCounts counts_of(std::int64_t blocks) {
  LaunchCounts counts;
  counts.blocks = blocks;
  return counts;
}

TEST(Estimate, IsTheLaunchAndItsLargestBound) {
  const DeviceFacts h200 = *named_target("H200");
  EXPECT_DOUBLE_EQ(estimate(counts_of(132), h200).total, 2200);
  LaunchCounts counts = counts_of(132);
  counts.dram_bytes = 4'800'000;             // 4.8 TB/s
  counts.warp_instructions = 4 * 132 * 198;  // four a clock and SM at 1.98 GHz
  const Estimate e = estimate(counts, h200);
  EXPECT_DOUBLE_EQ(e.dram, 1000);
  EXPECT_NEAR(e.issue, 100, 1e-6);
  EXPECT_DOUBLE_EQ(e.total, 3200);
}

TEST(Estimate, FewBlocksHaveFewMultiprocessorsButTheWholeMemory) {
  const DeviceFacts h200 = *named_target("H200");
  LaunchCounts counts = counts_of(132);
  counts.shared_wavefronts = counts.warp_instructions = counts.tensor_flops = counts.load_sectors = 1'000'000;
  counts.dram_bytes = 1'000'000;
  LaunchCounts few = counts;
  few.blocks = 12;
  const Estimate all = estimate(counts, h200), some = estimate(few, h200);
  EXPECT_NEAR(some.shared / all.shared, 11, 1e-9);
  EXPECT_NEAR(some.issue / all.issue, 11, 1e-9);
  EXPECT_NEAR(some.l2 / all.l2, 11, 1e-9);
  EXPECT_NEAR(some.tensor / all.tensor, 11, 1e-9);
  EXPECT_DOUBLE_EQ(some.dram, all.dram);
}

TEST(Estimate, FollowsTheTarget) {
  LaunchCounts counts = counts_of(1000);
  counts.dram_bytes = 1 << 30;
  EXPECT_NEAR(estimate(counts, *named_target("H100")).dram / estimate(counts, *named_target("B200")).dram, 8.0 / 3.35,
              1e-9);
}

TEST(Estimate, ScaledCountsGrowWithBytesOrFlops) {
  LaunchCounts counts = counts_of(4);
  counts.dram_bytes = counts.load_sectors = counts.excess_load_sectors = 10;
  counts.warp_instructions = counts.shared_wavefronts = counts.bank_conflicts = 20;
  counts.mix["fp32"] = 7;
  const LaunchCounts made = scaled(counts, 100, 3, 4096);
  EXPECT_EQ(made.blocks, 4096);
  EXPECT_EQ(made.dram_bytes, 1000);
  EXPECT_EQ(made.load_sectors, 1000);
  EXPECT_EQ(made.excess_load_sectors, 1000);
  EXPECT_EQ(made.warp_instructions, 60);
  EXPECT_EQ(made.bank_conflicts, 60);
  EXPECT_EQ(made.mix.at("fp32"), 21);
}

TEST(NamedTargets, AreListedAndEachIsComplete) {
  EXPECT_THAT(target_names(), testing::IsSupersetOf({"H100", "H200", "B200", "sm_90", "sm_100a"}));
  for (const std::string& name : target_names()) {
    const auto facts = named_target(name);
    ASSERT_TRUE(facts) << name;
    EXPECT_GT(facts->sm_hertz, 1e9) << name;
    EXPECT_GT(facts->tensor_flops_per_second, facts->fp32_flops_per_second) << name;
    EXPECT_GT(facts->l2_bytes_per_clock, 0) << name;
    EXPECT_GT(facts->launch_nanoseconds, 0) << name;
    // The clock is the one at which 64 or 128 fp32 lanes an SM give the datasheet's rate.
    const double lanes = facts->fp32_flops_per_second / (2 * facts->sm_hertz * facts->sm_count);
    EXPECT_TRUE((lanes > 63 && lanes < 65) || (lanes > 126 && lanes < 130)) << name << ": " << lanes;
  }
}

}  // namespace
}  // namespace kf
