// SPDX-License-Identifier: Apache-2.0
#include <kfactory/embedded.h>

#include <set>

#include "gpu/nvrtc.h"
#include "gtest/gtest.h"
#include "kernels/harness/host.h"

namespace kf::harness {
namespace {

TEST(HarnessSource, IsOneTextWithoutIncludes) {
  const std::string text = harness_source();
  EXPECT_EQ(text.find("#include"), std::string::npos);
  EXPECT_EQ(text.find("#pragma once"), std::string::npos);
  for (const char* kernel : {"kf_poison", "kf_fill", "kf_compare", "kf_gate", "kf_flush", "kf_copy_bulk"}) {
    EXPECT_NE(text.find(kernel), std::string::npos) << kernel;
  }
  const std::size_t first = text.find("struct Layout");
  EXPECT_EQ(text.find("struct Layout", first + 1), std::string::npos);
}

TEST(HarnessSource, CompilesForHopperAndBlackwell) {
  for (const char* arch : {"sm_90a", "sm_100a"}) {
    const auto build = gpu_tests::compile(harness_build_request(arch));
    ASSERT_TRUE(build) << arch << "\n" << build.error();
    EXPECT_FALSE(build->cubin.empty());
    EXPECT_EQ(build->log.find("warning"), std::string::npos) << build->log;
    // Every kernel that a call names, and none of them contracted: a fused multiply-add would round once, the host
    // twice.
    for (const char* kernel : {"kf_poison",         "kf_fill",    "kf_scatter",   "kf_digest",  "kf_poison_damage",
                               "kf_padding_damage", "kf_nonzero", "kf_differing", "kf_compare", "kf_count_bits",
                               "kf_squares",        "kf_gate",    "kf_clock",     "kf_flush",   "kf_fence",
                               "kf_scrub_shared",   "kf_copy_1",  "kf_copy_4",    "kf_copy_8",  "kf_copy_bulk"}) {
      EXPECT_NE(build->ptx.find(std::string(".entry ") + kernel + "("), std::string::npos) << kernel;
    }
    EXPECT_EQ(build->ptx.find("fma.rn.f64"), std::string::npos);
  }
}

TEST(CopyLaunches, CoverEveryVariantAndFitTheDevice) {
  DeviceFacts facts{.arch = "sm_90a", .sm_count = 132, .shared_per_block = 232448, .shared_per_sm = 233472};
  std::set<std::string> ids;
  for (const Launch& launch : copy_launches(64LL << 20, facts)) {
    EXPECT_TRUE(ids.insert(launch.id).second) << launch.id;
    EXPECT_GE(launch.grid[0], 1u);
    EXPECT_LE(launch.shared_bytes + 128, facts.shared_per_block);
    ASSERT_GE(launch.args.size(), 3u);
    EXPECT_EQ(launch.args[0].index, 1);
    EXPECT_EQ(launch.args[1].index, 0);
    EXPECT_EQ(launch.args[2].bits, 64u << 20);
  }
  EXPECT_TRUE(ids.contains("memcpy"));
  EXPECT_TRUE(ids.contains("kf_copy_4_b512"));
  EXPECT_TRUE(ids.contains("kf_copy_bulk_t32768"));
}

TEST(CopyLaunches, LeaveTheBulkEngineOutBeforeHopper) {
  for (const Launch& launch : copy_launches(
           1 << 20, {.arch = "sm_80", .sm_count = 108, .shared_per_block = 166912, .shared_per_sm = 167936})) {
    EXPECT_NE(launch.entry, "kf_copy_bulk");
  }
}

}  // namespace
}  // namespace kf::harness
