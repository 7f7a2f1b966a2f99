// SPDX-License-Identifier: Apache-2.0
// The Device verbs of the emulator, as gates and sessions use them.
#include <gmock/gmock.h>

#include "emulator/emulator.h"
#include "nvrtc.h"

namespace kf {
namespace {

constexpr const char* kCopyPtx = R"(.version 8.8
.target sm_90a
.address_size 64
.visible .entry copy(.param .u64 x, .param .u64 y, .param .u32 n)
{
.reg .pred %p<2>; .reg .b32 %r<6>; .reg .b64 %d<6>;
ld.param.u64 %d1, [x]; ld.param.u64 %d2, [y]; ld.param.u32 %r1, [n];
mov.u32 %r2, %ctaid.x; mov.u32 %r3, %ntid.x; mov.u32 %r4, %tid.x; mad.lo.u32 %r2, %r2, %r3, %r4;
setp.ge.u32 %p1, %r2, %r1; @%p1 ret;
mad.wide.u32 %d3, %r2, 4, %d1; mad.wide.u32 %d4, %r2, 4, %d2;
ld.global.u32 %r5, [%d3]; st.global.u32 [%d4], %r5; ret;
})";

struct CopyBench {
  std::unique_ptr<Device> device;
  ModuleHandle module{};
  BufferHandle x{}, y{};
  Tensor tensor;
  ResolvedPlan plan;

  explicit CopyBench(std::uint32_t n = 4096) {
    device = open_emulator_device(*named_target("H200")).value();
    Build build;
    build.ptx = kCopyPtx;
    module = device->load(build).value();
    tensor.name = "x";
    tensor.extent = {n};
    tensor.stride = {1};
    x = device->allocate({tensor.span_bytes(), 0}).value();
    y = device->allocate({tensor.span_bytes(), 16}).value();
    EXPECT_TRUE(device->poison(x, 1));
    EXPECT_TRUE(device->fill(x, tensor, {"normal", 7}));
    EXPECT_TRUE(device->poison(y, 2));
    Launch launch;
    launch.id = launch.entry = "copy";
    launch.grid = {(n + 255) / 256, 1, 1};
    launch.block = {256, 1, 1};
    launch.args = {{Arg::Kind::kTensor, 0, 0, 8}, {Arg::Kind::kTensor, 1, 0, 8}, {Arg::Kind::kScalar, 0, n, 4}};
    plan.launches = {launch};
  }
  OrFault<void> run() { return device->run(module, plan, std::vector{x, y}, {}, {}); }
};

TEST(EmulatorDevice, SaysWhatItIsAndWhatItPretendsToBe) {
  CopyBench bench;
  EXPECT_EQ(bench.device->facts().kind, "emulator");
  EXPECT_EQ(bench.device->facts().sm_count, 132);
}

TEST(EmulatorDevice, ACopyEqualsItsSourceAndLeavesRedZonesAlone) {
  CopyBench bench(4000);
  const auto result = bench.run();
  ASSERT_TRUE(result) << result.error().detail;
  EXPECT_EQ(bench.device->differing_elements(bench.x, bench.y, bench.tensor).value(), 0);
  EXPECT_EQ(bench.device->red_zone_damage(bench.y, 2).value(), 0);
}

TEST(EmulatorDevice, AnUnwrittenTailIsSeen) {
  CopyBench bench(4000);
  bench.plan.launches[0].args[2].bits = 3990;
  ASSERT_TRUE(bench.run());
  EXPECT_EQ(bench.device->differing_elements(bench.x, bench.y, bench.tensor).value(), 10);
}

TEST(EmulatorDevice, TimesAreEstimatesThatGrowWithTheBytes) {
  CopyBench small(4096), large(4096 * 64);
  auto estimate = [](CopyBench& bench) {
    TimedBatch batch;
    kf::Slot slot;
    slot.module = bench.module;
    slot.plan = &bench.plan;
    slot.tensors = {bench.x, bench.y};
    batch.slots = {slot};
    batch.method = ClockMethod::kEstimate;
    return bench.device->time(batch).value().at(0).nanoseconds;
  };
  const double a = estimate(small), b = estimate(large);
  EXPECT_GT(a, 2000);
  EXPECT_GT(b, a + 200);  // 2 MiB at 4.8 TB/s take 437 ns
  EXPECT_LT(b, a + 2000);
  EXPECT_EQ(estimate(large), b);
}

TEST(EmulatorDevice, RefusesLaunchesThatAGpuWouldRefuse) {
  auto refused = [](auto change) {
    CopyBench bench;
    change(bench.plan.launches[0]);
    const auto result = bench.run();
    return !result && result.error().kind == DeviceFault::Kind::kLaunchRefused;
  };
  EXPECT_TRUE(refused([](Launch& l) { l.grid = {0, 1, 1}; }));
  EXPECT_TRUE(refused([](Launch& l) { l.block = {2048, 1, 1}; }));
  EXPECT_TRUE(refused([](Launch& l) { l.grid = {1, 70000, 1}; }));
  EXPECT_TRUE(refused([](Launch& l) { l.shared_bytes = 300 << 10; }));
  EXPECT_TRUE(refused([](Launch& l) { l.entry = "other"; }));
  EXPECT_TRUE(refused([](Launch& l) { l.args.pop_back(); }));
  EXPECT_TRUE(refused([](Launch& l) { l.args[2].width = 8; }));
  EXPECT_TRUE(refused([](Launch& l) { l.cluster = {3, 1, 1}; }));
}

TEST(EmulatorDevice, AModuleThatIsNoPtxIsUnsupported) {
  auto device = open_emulator_device(*named_target("H200")).value();
  Build build;
  build.ptx = "no PTX";
  const auto module = device->load(build);
  ASSERT_FALSE(module);
  EXPECT_EQ(module.error().kind, DeviceFault::Kind::kUnsupported);
}

TEST(EmulatorDevice, MoreMemoryThanThereIsIsRefused) {
  auto device = open_emulator_device(*named_target("H200"), {.memory_bytes = 1 << 20}).value();
  const auto buffer = device->allocate({2 << 20, 0});
  ASSERT_FALSE(buffer);
  EXPECT_EQ(buffer.error().kind, DeviceFault::Kind::kOutOfMemory);
}

}  // namespace
}  // namespace kf
