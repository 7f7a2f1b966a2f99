// SPDX-License-Identifier: Apache-2.0
#include "compile/ptxas_report.h"

#include <gtest/gtest.h>

namespace kf {
namespace {

TEST(PtxasReport, ReadsEveryField) {
  const auto uses = read_ptxas_report(
      "ptxas info    : 0 bytes gmem\n"
      "ptxas info    : Compiling entry function 'k' for 'sm_90a'\n"
      "ptxas info    : Function properties for k\n"
      "ptxas         .     256 bytes stack frame, 12 bytes spill stores, 16 bytes spill loads\n"
      "ptxas info    : Used 128 registers, used 1 barriers, 264 bytes cumulative stack size, 2048 bytes smem\n"
      "ptxas info    : Compile time = 1.5 ms\n");
  ASSERT_EQ(uses.size(), 1U);
  EXPECT_EQ(uses[0], (KernelUse{"k", 128, 12, 16, 264, 1, 2048, 0}));
}

TEST(PtxasReport, TakesAbsentFieldsAsZero) {
  const auto uses = read_ptxas_report(
      "ptxas info    : Compiling entry function 'k' for 'sm_90a'\nptxas info    : Used 8 registers\n");
  ASSERT_EQ(uses.size(), 1U);
  EXPECT_EQ(uses[0], (KernelUse{"k", 8, 0, 0, 0, 0, 0, 0}));
}

TEST(PtxasReport, AddsTheSpillsOfCalledFunctions) {
  const auto uses = read_ptxas_report(
      "ptxas info    : Compiling entry function 'a' for 'sm_90a'\n"
      "ptxas info    : Function properties for a\n"
      "ptxas         .     0 bytes stack frame, 0 bytes spill stores, 0 bytes spill loads\n"
      "ptxas info    : Used 28 registers, 8 bytes cumulative stack size\n"
      "ptxas info    : Function properties for _Z4lookPKii\n"
      "ptxas         .     8 bytes stack frame, 4 bytes spill stores, 4 bytes spill loads\n"
      "ptxas info    : Compiling entry function 'b' for 'sm_90a'\n"
      "ptxas info    : Used 10 registers\n");
  ASSERT_EQ(uses.size(), 2U);
  EXPECT_EQ(uses[0], (KernelUse{"a", 28, 4, 4, 8, 0, 0, 0}));
  EXPECT_EQ(uses[1].entry, "b");
  EXPECT_EQ(uses[1].spill_store_bytes, 0);
}

TEST(PtxasReport, ReadsOnlyPtxasOwnLines) {
  EXPECT_TRUE(read_ptxas_report("candidate.cu(1): warning: Compiling entry function 'fake' for 'sm_90a'\n").empty());
  EXPECT_TRUE(read_ptxas_report("").empty());
}

}  // namespace
}  // namespace kf
