// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>
#include <kfactory/plan.h>

#include <cstdlib>
#include <random>

// The toolkit's own calculator: what we must agree with.
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wall"
#pragma GCC diagnostic ignored "-Wextra"
#include <cuda_occupancy.h>
#pragma GCC diagnostic pop

namespace kf {
namespace {

int blocks(int registers, std::int64_t static_shared, int threads, std::int64_t dynamic_shared,
           std::string_view target = "H200", int barriers = 0) {
  KernelUse use;
  use.registers = registers;
  use.static_shared_bytes = static_shared;
  use.barriers = barriers;
  return resident_blocks_per_sm(use, threads, dynamic_shared, *named_target(target));
}

TEST(Occupancy, SmallBlocksAreBoundByTheNumberOfBlocks) {
  EXPECT_EQ(blocks(32, 0, 32, 0), 32);
}
TEST(Occupancy, LargeBlocksAreBoundByThreads) {
  EXPECT_EQ(blocks(32, 0, 1024, 0), 2);
}
TEST(Occupancy, ThreadsCountAsWholeWarps) {
  EXPECT_EQ(blocks(16, 0, 33, 0), 32);
}
TEST(Occupancy, RegistersAreGivenToWholeWarpsInSteps) {
  EXPECT_EQ(blocks(64, 0, 256, 0), 4);  // 64 * 32 = 2048 a warp, 8 in each quarter of 16384
  EXPECT_EQ(blocks(65, 0, 256, 0), 3);  // rounds up to 72: 7 warps a quarter, 28 in all
  EXPECT_EQ(blocks(255, 0, 256, 0), 1);
  EXPECT_EQ(blocks(128, 0, 1024, 0), 0);  // more than a block may have
}
TEST(Occupancy, SharedMemoryCountsTheReservedKilobyte) {
  EXPECT_EQ(blocks(32, 0, 128, 75 * 1024), 3);  // 3 * 76 KiB = 228 KiB
  EXPECT_EQ(blocks(32, 1, 128, 75 * 1024), 2);  // one byte more rounds up to 128
  EXPECT_EQ(blocks(32, 0, 128, 227 * 1024), 1);
  EXPECT_EQ(blocks(32, 0, 128, 227 * 1024 + 1), 0);
}
TEST(Occupancy, NamedBarriersAreShared) {
  EXPECT_EQ(blocks(32, 0, 64, 0, "H200", 16), 4);     // 64 on a data-center SM
  EXPECT_EQ(blocks(32, 0, 64, 0, "RTX5090", 16), 1);  // 24
  EXPECT_EQ(blocks(32, 0, 64, 0, "L40S", 16), 24);    // not counted before Hopper
}
TEST(Occupancy, OtherChipsHaveOtherLimits) {
  EXPECT_EQ(blocks(32, 0, 512, 0, "L40S"), 3);
  EXPECT_EQ(blocks(32, 0, 32, 0, "L40S"), 24);
  EXPECT_EQ(blocks(32, 0, 32, 0, "A10"), 16);
  EXPECT_EQ(blocks(32, 0, 1024, 0, "A100"), 2);
}
TEST(Occupancy, NonsenseHoldsNothing) {
  EXPECT_EQ(blocks(32, 0, 0, 0), 0);
  EXPECT_EQ(blocks(32, 0, 1025, 0), 0);
  EXPECT_EQ(blocks(32, 0, 32, -1), 0);
}

int toolkit_blocks(const DeviceFacts& facts, int major, int minor, const KernelUse& use, int threads,
                   std::size_t dynamic) {
  cudaOccDeviceProp device;
  device.computeMajor = major;
  device.computeMinor = minor;
  device.maxThreadsPerBlock = facts.max_threads_per_block;
  device.maxThreadsPerMultiprocessor = facts.max_threads_per_sm;
  device.regsPerBlock = facts.registers_per_block;
  device.regsPerMultiprocessor = facts.registers_per_sm;
  device.warpSize = facts.warp_size;
  device.sharedMemPerBlock = 48 * 1024;
  device.sharedMemPerMultiprocessor = static_cast<std::size_t>(facts.shared_per_sm);
  device.numSms = facts.sm_count;
  device.sharedMemPerBlockOptin = static_cast<std::size_t>(facts.shared_per_block);
  device.reservedSharedMemPerBlock = static_cast<std::size_t>(facts.shared_reserved_per_block);
  cudaOccFuncAttributes kernel;
  kernel.maxThreadsPerBlock = 1024;
  kernel.numRegs = use.registers;
  kernel.sharedSizeBytes = static_cast<std::size_t>(use.static_shared_bytes);
  kernel.partitionedGCConfig = PARTITIONED_GC_OFF;
  kernel.shmemLimitConfig = FUNC_SHMEM_LIMIT_OPTIN;
  kernel.maxDynamicSharedSizeBytes = dynamic;
  kernel.numBlockBarriers = use.barriers;
  cudaOccDeviceState state;
  state.carveoutConfig = SHAREDMEM_CARVEOUT_MAX_SHARED;
  cudaOccResult result;
  const cudaOccError error =
      cudaOccMaxActiveBlocksPerMultiprocessor(&result, &device, &kernel, &state, threads, dynamic);
  return error == CUDA_OCC_SUCCESS ? result.activeBlocksPerMultiprocessor : -static_cast<int>(error);
}

TEST(Occupancy, AgreesWithTheToolkitOnEveryArchitecture) {
  struct Chip {
    const char* target;
    int major, minor;
  };
  std::mt19937_64 random(7);
  const auto pick = [&](std::uint64_t n) { return static_cast<int>(random() % n); };
  for (const Chip& chip : {Chip{"A100", 8, 0}, Chip{"A10", 8, 6}, Chip{"L40S", 8, 9}, Chip{"H200", 9, 0},
                           Chip{"B200", 10, 0}, Chip{"RTX5090", 12, 0}}) {
    const DeviceFacts facts = *named_target(chip.target);
    for (int i = 0; i < 4000; ++i) {
      KernelUse use;
      use.registers = 1 + pick(255);
      use.static_shared_bytes = pick(4) == 0 ? pick(49152) : 0;
      use.barriers = pick(17);
      const int threads = 1 + pick(1024);
      const std::int64_t room = facts.shared_per_block - use.static_shared_bytes;
      const std::int64_t dynamic = pick(2) == 0 ? 0 : pick(static_cast<std::uint64_t>(room) + 1);
      ASSERT_EQ(resident_blocks_per_sm(use, threads, dynamic, facts),
                toolkit_blocks(facts, chip.major, chip.minor, use, threads, static_cast<std::size_t>(dynamic)))
          << chip.target << ": " << use.registers << " registers, " << use.static_shared_bytes << " + " << dynamic
          << " bytes, " << threads << " threads, " << use.barriers << " barriers";
    }
  }
}

TEST(NamedTarget, KnowsProductsAndArchitectures) {
  const DeviceFacts h200 = *named_target("H200");
  EXPECT_EQ(h200.sm_count, 132);
  EXPECT_EQ(h200.arch, "sm_90a");
  EXPECT_EQ(h200.l2_bytes, 62914560);
  EXPECT_EQ(h200.shared_per_block, 232448);
  EXPECT_EQ(h200.kind, "none");
  EXPECT_EQ(named_target("sm_90a")->name, "NVIDIA H200");
  EXPECT_EQ(named_target("sm_100a")->name, "NVIDIA B200");
  EXPECT_EQ(named_target("sm_90")->arch, "sm_90");
  EXPECT_EQ(named_target("sm_80")->max_cluster, 1);
}

TEST(NamedTarget, SaysWhereItsFiguresComeFrom) {
  for (const char* name : {"H200", "H100", "B200", "B300", "A100", "A10", "L40S", "RTX5090", "sm_87"}) {
    const auto facts = named_target(name);
    ASSERT_TRUE(facts) << name;
    EXPECT_THAT(facts->source, testing::StartsWith("table: ")) << name;
    EXPECT_GT(facts->dram_bytes_per_second, 1e11) << name;
    EXPECT_GT(facts->fp32_flops_per_second, 1e12) << name;
  }
}

TEST(NamedTarget, RefusesOtherNames) {
  EXPECT_FALSE(named_target("H300"));
  EXPECT_FALSE(named_target(""));
  EXPECT_FALSE(named_target("sm_91"));
}

}  // namespace
}  // namespace kf
