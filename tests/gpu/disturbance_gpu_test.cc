// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <set>

#include "gmock/gmock.h"
#include "gpu/fixture.h"
#include "gpu/test_kernels.h"

namespace kf::gpu_tests {
namespace {

constexpr const char* kWhere = R"cuda(
extern "C" __global__ void where(unsigned int* out, int nanoseconds) {
  unsigned int sm;
  asm volatile("mov.u32 %0, %%smid;" : "=r"(sm));
  unsigned long long start, now;
  asm volatile("mov.u64 %0, %%globaltimer;" : "=l"(start));
  do { asm volatile("mov.u64 %0, %%globaltimer;" : "=l"(now)); } while (now - start < nanoseconds);
  if (threadIdx.x == 0) out[blockIdx.x] = sm;
}
)cuda";

struct Disturbed : GpuTest {
  OrFault<void> disturbed(ModuleHandle module, const ResolvedPlan& plan, const std::vector<BufferHandle>& tensors,
                          const Disturbance& disturbance) {
    return device().run_disturbed(module, plan, tensors, {}, disturbance);
  }
  BufferHandle zeroed(std::int64_t bytes) {
    const BufferHandle handle = buffer(bytes);
    EXPECT_TRUE(device().zero(handle));
    return handle;
  }
};

TEST_F(Disturbed, PlansAreCarriedOutInOrder) {
  const ModuleHandle module = load(kTestKernels);
  for (const double share : {0.0, 0.5, 0.95, 1.0}) {
    for (const std::uint64_t seed : {1u, 2u, 3u, 4u}) {
      const BufferHandle p = zeroed(4 * 64);
      const ResolvedPlan plan =
          chain({launch("add", 2, 32, {tensor_arg(0), int_arg(3)}),
                 launch("set_late", 1, 1, {tensor_arg(0), int_arg(5), int_arg(100), int_arg(50'000)}),
                 launch("add", 2, 32, {tensor_arg(0), int_arg(4)})});
      const auto ran = disturbed(module, plan, {p}, {seed, share, true});
      ASSERT_TRUE(ran) << ran.error().detail;
      const auto found = read<int>(p, 64);
      EXPECT_EQ(found[5], 104);
      EXPECT_EQ(found[6], 7);
    }
  }
}

TEST_F(Disturbed, HeldMultiprocessorsRunNothingElse) {
  const ModuleHandle module = load(kWhere);
  const auto sms = static_cast<std::uint32_t>(device().facts().sm_count);
  const BufferHandle out = zeroed(4LL * 8 * sms);
  const ResolvedPlan plan = chain({launch("where", 8 * sms, 64, {tensor_arg(0), int_arg(20'000)})});
  const auto used = [&] {
    const auto all = read<std::uint32_t>(out, 8 * sms);
    return std::set<std::uint32_t>(all.begin(), all.end()).size();
  };
  run(module, plan, {out});
  EXPECT_EQ(used(), sms);
  for (const std::uint64_t seed : {7u, 8u, 9u}) {
    ASSERT_TRUE(disturbed(module, plan, {out}, {seed, 0.5, false}));
    std::printf("half held: %zu of %u multiprocessors were left\n", used(), sms);
    EXPECT_GT(used(), sms / 4);
    EXPECT_LT(used(), sms * 3 / 4);
    ASSERT_TRUE(disturbed(module, plan, {out}, {seed, 0.95, false}));
    EXPECT_LT(used(), sms / 5);
  }
  run(module, plan, {out});
  EXPECT_EQ(used(), sms);  // all of them were let go of
}

// It may need every multiprocessor, so they are held for its first moments only.
TEST_F(Disturbed, ACooperativeGridOfAllResidentBlocksEnds) {
  const ModuleHandle module = load(kTestKernels);
  const auto blocks = 2 * static_cast<std::uint32_t>(device().facts().sm_count);
  Launch meet = launch("meet", blocks, 1024, {tensor_arg(0), tensor_arg(1)});
  meet.flags.cooperative = true;
  for (const std::uint64_t seed : {1u, 2u, 3u}) {
    const BufferHandle counter = zeroed(4), out = zeroed(4LL * blocks);
    const auto ran = disturbed(module, chain({meet}), {counter, out}, {seed, 0.95, true});
    ASSERT_TRUE(ran) << ran.error().detail;
    EXPECT_THAT(read<std::uint32_t>(out, blocks), testing::Each(1u));
  }
}

TEST_F(Disturbed, ClustersOfSixteenEnd) {
  const ModuleHandle module = load(kTestKernels);
  const BufferHandle out = zeroed(4 * 64);
  Launch ranks = launch("cluster_ranks", 64, 32, {tensor_arg(0)});
  ranks.cluster = {device().facts().max_cluster >= 16 ? 16u : 8u, 1, 1};
  ranks.flags.non_portable_cluster = ranks.cluster[0] > 8;
  for (const std::uint64_t seed : {1u, 2u, 3u}) {
    const auto ran = disturbed(module, chain({ranks}), {out}, {seed, 0.95, true});
    ASSERT_TRUE(ran) << ran.error().detail;
  }
}

TEST_F(Disturbed, ALaunchThatIsRefusedLeavesTheDeviceUsable) {
  const ModuleHandle module = load(kTestKernels);
  const BufferHandle p = zeroed(4096);
  const auto refused =
      disturbed(module, chain({launch("add", 1, 4096, {tensor_arg(0), int_arg(1)})}), {p}, {1, 0.5, true});
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().kind, DeviceFault::Kind::kLaunchRefused);
  EXPECT_TRUE(disturbed(module, chain({launch("add", 1, 32, {tensor_arg(0), int_arg(1)})}), {p}, {1, 0.5, true}));
}

[[noreturn]] void exit_after_waiting_for_the_whole_grid() {
  std::string why;
  const auto device = open_device(why);
  if (device == nullptr) {
    std::_Exit(10);
  }
  device->set_launch_deadline(std::chrono::milliseconds(100));
  const auto module = device->load(compiled(kTestKernels, device->facts()));
  const auto counter = device->allocate({4, 0});
  const auto blocks = static_cast<std::uint32_t>(device->facts().sm_count);
  const auto out = device->allocate({4LL * blocks, 0});
  if (!module || !counter || !out || !device->zero(*counter)) {
    std::_Exit(11);
  }
  // One block a multiprocessor: on a quiet device they meet.
  const ResolvedPlan plan = chain({launch("meet", blocks, 1024, {tensor_arg(0), tensor_arg(1)})});
  if (!device->run(*module, plan, std::vector{*counter, *out}, {}, {}) || !device->zero(*counter)) {
    std::_Exit(12);
  }
  const auto ran = device->run_disturbed(*module, plan, std::vector{*counter, *out}, {}, {5, 0.95, false});
  if (ran || ran.error().kind != DeviceFault::Kind::kTimeout) {
    std::_Exit(13);
  }
  std::fprintf(stderr, "%s\n", ran.error().detail.c_str());
  std::_Exit(0);
}

TEST_F(Disturbed, AGridThatWaitsForItselfWithoutACooperativeLaunchMeetsTheDeadline) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  EXPECT_EXIT(exit_after_waiting_for_the_whole_grid(), testing::ExitedWithCode(0), "multiprocessors were held");
}

}  // namespace
}  // namespace kf::gpu_tests
