// SPDX-License-Identifier: Apache-2.0
// Launches of every kind that a plan can ask for.
#include <numeric>

#include "gmock/gmock.h"
#include "gpu/fixture.h"
#include "gpu/test_kernels.h"

namespace kf::gpu_tests {
namespace {

using testing::Each;
using testing::ElementsAre;
using testing::HasSubstr;

struct Launches : GpuTest {
  void SetUp() override {
    GpuTest::SetUp();
    if (!IsSkipped() && !HasFatalFailure()) {
      module = load(kTestKernels);
    }
  }
  BufferHandle zeroed(std::int64_t bytes) {
    const BufferHandle made = buffer(bytes);
    EXPECT_TRUE(device().zero(made));
    return made;
  }
  DeviceFault refused(const ResolvedPlan& plan, const std::vector<BufferHandle>& tensors) {
    const auto ran = device().run(module, plan, tensors, {}, {});
    EXPECT_FALSE(ran);
    return ran ? DeviceFault{} : ran.error();
  }
  ModuleHandle module{};
};

TEST_F(Launches, RunInOrder) {
  const BufferHandle p = zeroed(4 * 256);
  std::vector<Launch> launches;
  for (int i = 0; i < 50; ++i) {
    launches.push_back(launch("add", 4, 64, {tensor_arg(0), int_arg(i)}));
  }
  run(module, chain(launches), {p});
  EXPECT_THAT(read<int>(p, 256), Each(1225));
}

TEST_F(Launches, TakeOffsetsOfSlices) {
  const BufferHandle p = zeroed(4 * 128);
  const std::int64_t offset = 4 * 64;
  ASSERT_TRUE(device().run(module, chain({launch("add", 1, 64, {tensor_arg(0), int_arg(5)})}), std::vector{p}, {},
                           std::vector{offset}));
  const auto values = read<int>(p, 128);
  EXPECT_EQ(std::accumulate(values.begin(), values.begin() + 64, 0), 0);
  EXPECT_EQ(std::accumulate(values.begin() + 64, values.end(), 0), 320);
}

TEST_F(Launches, FormClusters) {
  for (const std::uint32_t size : {2u, 4u, 8u, 16u}) {
    const BufferHandle out = zeroed(4 * 32);
    Launch cluster = launch("cluster_ranks", 32, 128, {tensor_arg(0)});
    cluster.cluster = {size, 1, 1};
    cluster.flags.non_portable_cluster = size > 8;
    run(module, chain({cluster}), {out});
    std::vector<std::uint32_t> wanted;
    for (std::uint32_t block = 0; block < 32; ++block) {
      wanted.push_back((100 + (block % size + 1) % size) * 100 + size);
    }
    EXPECT_EQ(read<std::uint32_t>(out, 32), wanted) << size;
  }
}

TEST_F(Launches, TakeClusterPolicies) {
  for (const char* policy : {"spread", "load_balancing"}) {
    const BufferHandle out = zeroed(4 * 32);
    Launch cluster = launch("cluster_ranks", 32, 128, {tensor_arg(0)});
    cluster.cluster = {4, 1, 1};
    cluster.flags.cluster_policy = policy;
    run(module, chain({cluster}), {out});
    EXPECT_EQ(read<std::uint32_t>(out, 32)[0], 10104u);
  }
}

TEST_F(Launches, CooperativeBlocksMeet) {
  const auto blocks = static_cast<std::uint32_t>(device().facts().sm_count);
  const BufferHandle counter = zeroed(4);
  const BufferHandle out = zeroed(4LL * blocks);
  Launch meet = launch("meet", blocks, 32, {tensor_arg(0), tensor_arg(1)});
  meet.flags.cooperative = true;
  run(module, chain({meet}), {counter, out});
  EXPECT_THAT(read<std::uint32_t>(out, blocks), Each(1u));
}

TEST_F(Launches, ACooperativeGridThatDoesNotFitIsRefused) {
  const BufferHandle counter = zeroed(4);
  const BufferHandle out = zeroed(4 << 20);
  Launch meet = launch("meet", 1 << 20, 32, {tensor_arg(0), tensor_arg(1)});
  meet.flags.cooperative = true;
  EXPECT_EQ(refused(chain({meet}), {counter, out}).kind, DeviceFault::Kind::kLaunchRefused);
  run(module, chain({launch("add", 1, 1, {tensor_arg(0), int_arg(1)})}), {counter});  // the device still works
}

TEST_F(Launches, ProgrammaticDependentsSeeWhatTheyWaitFor) {
  const BufferHandle p = zeroed(4 * 64);
  const BufferHandle out = zeroed(4 * 64);
  Launch consume = launch("consume", 1, 64, {tensor_arg(0), tensor_arg(1)});
  consume.flags.pdl = true;
  for (int round = 0; round < 10; ++round) {
    run(module, chain({launch("produce", 1, 64, {tensor_arg(0), int_arg(50'000)}), consume}), {p, out});
    EXPECT_EQ(read<int>(out, 64)[63], 140);
    ASSERT_TRUE(device().zero(p));
  }
}

TEST_F(Launches, LoadTilesThroughTensorMaps) {
  std::vector<float> values(40 * 20);
  std::iota(values.begin(), values.end(), 1.0f);
  const BufferHandle p = buffer(static_cast<std::int64_t>(4 * values.size()));
  write(p, values);
  const BufferHandle out = zeroed(4 * 128);
  ResolvedPlan plan = chain({launch("tile", 1, 128, {map_arg(0), tensor_arg(1), int_arg(32), int_arg(16)})});
  TensorMap map{.name = "x_map", .index = 0, .dtype = Dtype::kFloat32};
  map.dims = {40, 20};
  map.strides_bytes = {160};
  map.box = {16, 8};
  map.element_strides = {1, 1};
  plan.maps = {map};
  run(module, plan, {p, out});
  const auto tile = read<float>(out, 128);
  for (int row = 0; row < 8; ++row) {
    for (int column = 0; column < 16; ++column) {  // the tile hangs over both edges: zeros there
      const bool inside = row < 4 && column < 8;
      EXPECT_EQ(tile[static_cast<std::size_t>(16 * row + column)],
                inside ? values[static_cast<std::size_t>(40 * (16 + row) + 32 + column)] : 0.0f);
    }
  }
}

TEST_F(Launches, ATensorMapThatTheDriverRefusesIsNamed) {
  const BufferHandle p = buffer(4096);
  ResolvedPlan plan = chain({launch("tile", 1, 128, {map_arg(0), tensor_arg(0), int_arg(0), int_arg(0)})});
  TensorMap map{.name = "odd_map", .index = 0, .dtype = Dtype::kFloat32};
  map.dims = {16, 16};
  map.strides_bytes = {60};  // not a multiple of 16
  map.box = {16, 8};
  plan.maps = {map};
  const DeviceFault fault = refused(plan, {p});
  EXPECT_EQ(fault.kind, DeviceFault::Kind::kLaunchRefused);
  EXPECT_THAT(fault.detail, HasSubstr("odd_map"));
}

TEST_F(Launches, UseAllTheSharedMemoryOfABlock) {
  for (const std::int64_t bytes : {40'000LL, 200'000LL, static_cast<long long>(device().facts().shared_per_block)}) {
    const BufferHandle out = zeroed(4);
    Launch big = launch("big_shared", 2, 256, {tensor_arg(0), int_arg(static_cast<std::int32_t>(bytes / 4))});
    big.shared_bytes = static_cast<std::uint32_t>(bytes);
    big.flags.carveout = 100;
    run(module, chain({big}), {out});
    EXPECT_EQ(read<std::uint32_t>(out, 1)[0], 2 * static_cast<std::uint32_t>(bytes / 4));
  }
}

TEST_F(Launches, ABlockThatIsTooLargeIsRefusedAndTheDeviceGoesOn) {
  const BufferHandle p = zeroed(4 * 64);
  EXPECT_EQ(refused(chain({launch("add", 1, 2048, {tensor_arg(0), int_arg(1)})}), {p}).kind,
            DeviceFault::Kind::kLaunchRefused);
  Launch shared = launch("add", 1, 64, {tensor_arg(0), int_arg(1)});
  shared.shared_bytes = 300'000;
  EXPECT_EQ(refused(chain({shared}), {p}).kind, DeviceFault::Kind::kLaunchRefused);
  EXPECT_EQ(refused(chain({launch("nobody", 1, 64, {})}), {p}).kind, DeviceFault::Kind::kLaunchRefused);
  run(module, chain({launch("add", 1, 64, {tensor_arg(0), int_arg(1)})}), {p});
  EXPECT_THAT(read<int>(p, 64), Each(1));
}

TEST_F(Launches, ArgumentsThatDoNotFitTheKernelAreRefused) {
  const BufferHandle p = zeroed(4 * 64);
  const DeviceFault fewer = refused(chain({launch("add", 1, 64, {tensor_arg(0)})}), {p});
  EXPECT_EQ(fewer.kind, DeviceFault::Kind::kLaunchRefused);
  EXPECT_THAT(fewer.detail, HasSubstr("takes 2 parameters, the plan gives 1"));
  EXPECT_THAT(refused(chain({launch("add", 1, 64, {tensor_arg(0), long_arg(1)})}), {p}).detail, HasSubstr("4 bytes"));
}

TEST_F(Launches, WaitForTheLaunchesTheyNameAndJoinBeforeTheEnd) {
  // 0 sets p[0]; 1 and 2, side by side, set p[1] late and p[2] later; 3 needs both.
  ResolvedPlan plan;
  plan.launches = {launch("set_late", 1, 1, {tensor_arg(0), int_arg(0), int_arg(1), int_arg(100'000)}),
                   launch("set_late", 1, 1, {tensor_arg(0), int_arg(1), int_arg(2), int_arg(200'000)}),
                   launch("set_late", 1, 1, {tensor_arg(0), int_arg(2), int_arg(3), int_arg(400'000)}),
                   launch("sum_two", 1, 1, {tensor_arg(0), int_arg(1), int_arg(2), int_arg(3)}),
                   launch("set_late", 1, 1, {tensor_arg(0), int_arg(4), int_arg(9), int_arg(900'000)})};
  plan.launches[1].after = {0};
  plan.launches[2].after = {0};
  plan.launches[3].after = {1, 2};
  plan.launches[4].after = {};  // from the start, and longer than everything else
  for (int round = 0; round < 10; ++round) {
    const BufferHandle p = zeroed(4 * 8);
    run(module, plan, {p});
    EXPECT_THAT(read<int>(p, 5), ElementsAre(1, 2, 3, 2003, 9));
  }
}

TEST_F(Launches, ZeroWorkspacesAreZeroedBeforeEachLaunch) {
  const BufferHandle counter = buffer(4);
  const BufferHandle out = zeroed(4 * 32);
  ASSERT_TRUE(device().poison(counter, 5));
  ResolvedPlan plan = chain({launch("count_up", 1, 32, {workspace_arg(0), tensor_arg(0)})});
  plan.workspaces = {{"flags", 4, WorkspaceInit::kZero}};
  for (int round = 0; round < 3; ++round) {
    run(module, plan, {out}, {counter});
    EXPECT_EQ(read<std::uint32_t>(counter, 1)[0], 32u);
  }
}

TEST_F(Launches, EveryWayToCopyCopies) {
  const std::int64_t bytes = (3 << 20) + 13;
  const Tensor tensor{.name = "t", .dtype = Dtype::kUint8, .extent = {bytes}, .stride = {1}};
  const auto harness = compile(harness::harness_build_request(device().facts().arch));
  ASSERT_TRUE(harness);
  const auto copies = device().load(*harness);
  ASSERT_TRUE(copies);
  const BufferHandle from = buffer(bytes);
  ASSERT_TRUE(device().fill(from, tensor, {"uniform", 1}));
  const auto ways = harness::copy_launches(bytes, device().facts());
  EXPECT_GE(ways.size(), 12u);
  const BufferHandle to = buffer(bytes);
  for (const Launch& way : ways) {
    ASSERT_TRUE(device().poison(to, 3));
    run(*copies, chain({way}), {from, to});
    EXPECT_EQ(*device().differing_elements(from, to, tensor), 0) << way.id;
    EXPECT_EQ(*device().red_zone_damage(to, 3), 0) << way.id;
  }
  device().unload(*copies);
}

TEST_F(Launches, ScrubbingLeavesNothingInSharedMemory) {
  const auto blocks = static_cast<std::uint32_t>(4 * device().facts().sm_count);
  const auto bytes = static_cast<std::uint32_t>(device().facts().shared_per_block);
  Launch leave = launch("leave_words", blocks, 256, {int_arg(static_cast<std::int32_t>(bytes / 4))});
  Launch find = launch("find_words", blocks, 256, {tensor_arg(0), int_arg(static_cast<std::int32_t>(bytes / 4))});
  leave.shared_bytes = find.shared_bytes = bytes;
  const BufferHandle out = zeroed(4);
  run(module, chain({leave}), {out});
  ASSERT_TRUE(device().scrub_shared(77));
  run(module, chain({find}), {out});
  EXPECT_EQ(read<std::uint32_t>(out, 1)[0], 0u);
}

TEST_F(Launches, AreTheSameAfterReloading) {
  const BufferHandle p = zeroed(4 * 64);
  for (int round = 0; round < 20; ++round) {
    const ModuleHandle again = load(kTestKernels);
    run(again, chain({launch("add", 1, 64, {tensor_arg(0), int_arg(1)})}), {p});
  }
  EXPECT_THAT(read<int>(p, 64), Each(20));
}

TEST_F(Launches, AnotherDevicesCubinIsUnsupported) {
  const auto other = compile({kTestKernels, "", device().facts().arch == "sm_100a" ? "sm_90a" : "sm_100a", {}, {}});
  ASSERT_TRUE(other) << other.error();
  const auto loaded = device().load(*other);
  ASSERT_FALSE(loaded);
  EXPECT_EQ(loaded.error().kind, DeviceFault::Kind::kUnsupported);
}

// ---- what leaves the device unusable: each in a process of its own --------------------------------------------------

struct Faults : GpuTest {
  void SetUp() override {
    GTEST_FLAG_SET(death_test_style, "threadsafe");  // the child starts afresh: a forked one has no driver
    GpuTest::SetUp();
  }
};

// The child's exit code: 0 when the launch gave `wanted` and the device then refuses every verb.
[[noreturn]] void exit_after(const Launch& what, DeviceFault::Kind wanted) {
  std::string why;
  const auto device = open_device(why);
  if (device == nullptr) {
    std::_Exit(10);
  }
  device->set_launch_deadline(std::chrono::milliseconds(300));
  const auto module = device->load(compiled(kTestKernels, device->facts()));
  const auto buffer = device->allocate({4096, 0});
  if (!module || !buffer || !device->zero(*buffer)) {
    std::_Exit(11);
  }
  const auto ran = device->run(*module, chain({what}), std::vector{*buffer}, {}, {});
  if (ran || ran.error().kind != wanted) {
    std::fprintf(stderr, "%s\n", ran ? "no fault" : ran.error().detail.c_str());
    std::_Exit(12);
  }
  const auto after = device->zero(*buffer);
  std::_Exit(!after && after.error().kind == DeviceFault::Kind::kLost ? 0 : 13);
}

TEST_F(Faults, AnIllegalAccessEndsTheDevice) {
  EXPECT_EXIT(exit_after(launch("wild", 1, 32, {tensor_arg(0)}), DeviceFault::Kind::kIllegalAccess),
              testing::ExitedWithCode(0), "");
}

TEST_F(Faults, AnEndlessLoopMeetsTheDeadline) {
  EXPECT_EXIT(exit_after(launch("forever", 1, 32, {tensor_arg(0)}), DeviceFault::Kind::kTimeout),
              testing::ExitedWithCode(0), "");
}

// The destructor must not wait for the kernel either.
[[noreturn]] void exit_after_destruction() {
  std::string why;
  {
    const auto device = open_device(why);
    if (device == nullptr) {
      std::_Exit(10);
    }
    device->set_launch_deadline(std::chrono::milliseconds(300));
    const auto module = device->load(compiled(kTestKernels, device->facts()));
    const auto buffer = device->allocate({4096, 0});
    if (!module || !buffer || !device->zero(*buffer) ||
        device->run(*module, chain({launch("forever", 1, 32, {tensor_arg(0)})}), std::vector{*buffer}, {}, {})) {
      std::_Exit(11);
    }
    device->release(*buffer);
    device->unload(*module);
  }
  std::_Exit(0);
}

TEST_F(Faults, ADeadDeviceCanBeDestroyed) {
  EXPECT_EXIT(exit_after_destruction(), testing::ExitedWithCode(0), "");
}

}  // namespace
}  // namespace kf::gpu_tests
