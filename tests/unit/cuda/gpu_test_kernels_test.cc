// SPDX-License-Identifier: Apache-2.0
// The GPU tests' kernels can be compiled without a GPU, so a mistake in them shows here.
#include "gpu/test_kernels.h"

#include "gpu/nvrtc.h"
#include "gtest/gtest.h"

namespace kf::gpu_tests {
namespace {

TEST(GpuTestKernels, CompileForHopperAndBlackwell) {
  for (const char* arch : {"sm_90a", "sm_100a"}) {
    const auto build = compile({kTestKernels, "", arch, {}, {}});
    ASSERT_TRUE(build) << build.error();
    EXPECT_FALSE(build->cubin.empty());
  }
}

}  // namespace
}  // namespace kf::gpu_tests
