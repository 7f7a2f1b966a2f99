// SPDX-License-Identifier: Apache-2.0
// What run_disturbed() means on the emulator: other schedules, fewer blocks side by side.
#include <gmock/gmock.h>

#include "emulator/emulator.h"

namespace kf {
namespace {

// Block i adds 1 to *arrived and waits until `until` blocks have: all of the grid, or those before it.
constexpr const char* kWaitPtx = R"(.version 8.8
.target sm_90a
.address_size 64
.visible .entry wait(.param .u64 arrived, .param .u32 ticketed)
{
.reg .pred %p<3>; .reg .b32 %r<8>; .reg .b64 %d<3>;
ld.param.u64 %d1, [arrived]; ld.param.u32 %r1, [ticketed];
atom.global.add.u32 %r2, [%d1], 1;
mov.u32 %r3, %nctaid.x;
setp.eq.u32 %p1, %r1, 0;
selp.u32 %r4, %r3, %r2, %p1;
again:
ld.volatile.global.u32 %r5, [%d1];
setp.lt.u32 %p2, %r5, %r4;
@%p2 bra again;
ret;
})";

struct WaitBench {
  std::unique_ptr<Device> device;
  ModuleHandle module{};
  BufferHandle arrived{};
  ResolvedPlan plan;

  explicit WaitBench(bool ticketed, bool cooperative = false) {
    EmulatorOptions options;
    options.step_budget = 3'000'000;
    device = open_emulator_device(*named_target("H200"), options).value();
    Build build;
    build.ptx = kWaitPtx;
    module = device->load(build).value();
    arrived = device->allocate({4, 0}).value();
    Launch launch;
    launch.id = launch.entry = "wait";
    launch.grid = {16, 1, 1};
    launch.block = {1, 1, 1};
    launch.flags.cooperative = cooperative;
    launch.args = {{Arg::Kind::kTensor, 0, 0, 8}, {Arg::Kind::kScalar, 0, ticketed ? 1u : 0u, 4}};
    plan.launches = {launch};
  }
  OrFault<void> run() {
    EXPECT_TRUE(device->zero(arrived));
    return device->run(module, plan, std::vector{arrived}, {}, {});
  }
  OrFault<void> disturbed(double share, std::uint64_t seed) {
    EXPECT_TRUE(device->zero(arrived));
    return device->run_disturbed(module, plan, std::vector{arrived}, {}, {seed, share, true});
  }
};

TEST(EmulatorDisturbed, AGridThatWaitsForItselfEndsOnlyUndisturbed) {
  WaitBench bench(false);
  const auto quiet = bench.run();
  ASSERT_TRUE(quiet) << quiet.error().detail;
  const auto held = bench.disturbed(0.95, 1);
  ASSERT_FALSE(held);
  EXPECT_EQ(held.error().kind, DeviceFault::Kind::kTimeout);
  EXPECT_TRUE(bench.disturbed(0.0, 1));  // pauses alone take no block away
}

TEST(EmulatorDisturbed, ACooperativeGridIsNotStarved) {
  WaitBench bench(false, true);
  for (const std::uint64_t seed : {1u, 2u, 3u}) {
    const auto held = bench.disturbed(0.95, seed);
    EXPECT_TRUE(held) << held.error().detail;
  }
}

TEST(EmulatorDisturbed, BlocksThatWaitForEarlierTicketsEnd) {
  WaitBench bench(true);
  for (const std::uint64_t seed : {1u, 2u, 3u, 4u}) {
    const auto held = bench.disturbed(0.95, seed);
    EXPECT_TRUE(held) << held.error().detail;
  }
}

}  // namespace
}  // namespace kf
