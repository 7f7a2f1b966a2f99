// SPDX-License-Identifier: Apache-2.0
#include <algorithm>

#include "cuda/gpu_lock.h"
#include "cuda/nvml.h"
#include "gmock/gmock.h"
#include "gpu/fixture.h"
#include "gpu/test_kernels.h"

namespace kf::gpu_tests {
namespace {

double median(std::vector<double> values) {
  std::ranges::sort(values);
  return values[values.size() / 2];
}

struct Timing : GpuTest {
  void SetUp() override {
    GpuTest::SetUp();
    if (!IsSkipped() && !HasFatalFailure()) {
      module = load(kTestKernels);
    }
  }
  Slot slot(const ResolvedPlan& plan, std::vector<BufferHandle> tensors, int arm = 0,
            std::vector<BufferHandle> workspaces = {}) {
    return {arm, module, &plan, std::move(tensors), std::move(workspaces)};
  }
  std::vector<Sample> time(const TimedBatch& batch) {
    auto samples = device().time(batch);
    EXPECT_TRUE(samples) << to_string(samples.error().kind) << ": " << samples.error().detail;
    return samples ? *samples : std::vector<Sample>(batch.slots.size());
  }
  double median_of(const TimedBatch& batch) {
    std::vector<double> all;
    for (const Sample& sample : time(batch)) {
      all.push_back(sample.nanoseconds);
    }
    return median(all);
  }
  ModuleHandle module{};
};

ResolvedPlan copy_plan(std::int64_t bytes, int sm_count) {
  return chain({launch("copy", static_cast<std::uint32_t>(8 * sm_count), 256,
                       {tensor_arg(0), tensor_arg(1), long_arg(bytes / 16)})});
}

TEST_F(Timing, KnowsTheLengthOfAKernel) {
  const ResolvedPlan plan = chain({launch("spin", 1, 1, {int_arg(200'000)})});
  for (const ClockMethod method : {ClockMethod::kEvents, ClockMethod::kGraph, ClockMethod::kCupti}) {
    for (const CacheState state : {CacheState::kCold, CacheState::kWarm, CacheState::kSteady}) {
      const double found = median_of({std::vector<Slot>(8, slot(plan, {})), state, method});
      EXPECT_GT(found, 195'000) << to_string(method);  // the global timer may tick once a microsecond
      EXPECT_LT(found, 225'000) << to_string(method);
    }
  }
}

TEST_F(Timing, AColdCopyIsSlowerThanAWarmOne) {
  constexpr std::int64_t kBytes = 8 << 20;
  const BufferHandle from = buffer(kBytes);
  const BufferHandle to = buffer(kBytes);
  ASSERT_TRUE(device().poison(from, 1));
  const ResolvedPlan plan = copy_plan(kBytes, device().facts().sm_count);
  const std::vector<Slot> slots(24, slot(plan, {from, to}));
  const double cold = median_of({slots, CacheState::kCold, ClockMethod::kEvents});
  const double warm = median_of({slots, CacheState::kWarm, ClockMethod::kEvents});
  std::printf("8 MiB copy: cold %.2f us, warm %.2f us\n", cold / 1e3, warm / 1e3);
  EXPECT_GT(cold, 1.1 * warm);
  EXPECT_GT(cold, static_cast<double>(kBytes) / device().calibrate().dram_bytes_per_second * 1e9);  // it reads memory
}

TEST_F(Timing, EventsExceedCuptiByTheirOwnCostOnly) {
  constexpr std::int64_t kBytes = 64 << 20;
  const BufferHandle from = buffer(kBytes);
  const BufferHandle to = buffer(kBytes);
  ASSERT_TRUE(device().poison(from, 1));
  const ResolvedPlan plan = copy_plan(kBytes, device().facts().sm_count);
  const std::vector<Slot> slots(20, slot(plan, {from, to}));
  const double events = median_of({slots, CacheState::kCold, ClockMethod::kEvents});
  const double graph = median_of({slots, CacheState::kCold, ClockMethod::kGraph});
  const double cupti = median_of({slots, CacheState::kCold, ClockMethod::kCupti});
  std::printf("64 MiB copy: events %.2f us, graph %.2f us, cupti %.2f us\n", events / 1e3, graph / 1e3, cupti / 1e3);
  EXPECT_GT(events, cupti);
  EXPECT_LT(events - cupti, 15'000);
  EXPECT_LT(std::abs(graph - events), 15'000);
  EXPECT_GT(cupti, 2.0 * static_cast<double>(kBytes) / 5.5e12 * 1e9);  // faster than any memory there is
}

TEST_F(Timing, KeepsSlotsAndArmsInOrderAndReadsTheClock) {
  const ResolvedPlan quick = chain({launch("spin", 1, 1, {int_arg(20'000)})});
  const ResolvedPlan slow = chain({launch("spin", 1, 1, {int_arg(80'000)})});
  const auto samples = time({{slot(quick, {}, 0), slot(slow, {}, 1), slot(slow, {}, 1), slot(quick, {}, 0)},
                             CacheState::kCold,
                             ClockMethod::kEvents});
  ASSERT_EQ(samples.size(), 4u);
  for (int i = 0; i < 4; ++i) {
    const Sample& sample = samples[static_cast<std::size_t>(i)];
    EXPECT_EQ(sample.slot, i);
    EXPECT_EQ(sample.arm, i == 1 || i == 2 ? 1 : 0);
    EXPECT_EQ(sample.nanoseconds > 60'000, sample.arm == 1);
    EXPECT_GT(sample.sm_hertz, 3e8);
    EXPECT_LT(sample.sm_hertz, 4e9);
  }
}

TEST_F(Timing, MoreWorkThanFitsBehindOneGateIsTimedInParts) {
  const BufferHandle p = buffer(4 * 64);
  ASSERT_TRUE(device().zero(p));
  std::vector<Launch> launches(30, launch("add", 1, 64, {tensor_arg(0), int_arg(1)}));
  const ResolvedPlan plan = chain(launches);
  const auto samples = time({std::vector<Slot>(60, slot(plan, {p})), CacheState::kCold, ClockMethod::kEvents});
  ASSERT_EQ(samples.size(), 60u);
  EXPECT_THAT(read<int>(p, 64), testing::Each(1800));
}

TEST_F(Timing, ZeroedWorkspacesAreInsideTheWindow) {
  constexpr std::int64_t kBytes = 512 << 20;
  const BufferHandle workspace = buffer(kBytes);
  ResolvedPlan plan = chain({launch("spin", 1, 1, {int_arg(1'000)})});
  plan.workspaces = {{"big", kBytes, WorkspaceInit::kZero}};
  for (const ClockMethod method : {ClockMethod::kEvents, ClockMethod::kGraph, ClockMethod::kCupti}) {
    EXPECT_GT(median_of({std::vector<Slot>(4, slot(plan, {}, 0, {workspace})), CacheState::kCold, method}), 80'000)
        << to_string(method);
  }
}

TEST_F(Timing, AProgrammaticLaunchDoesNotEndTheWindowEarly) {
  const BufferHandle p = buffer(4 * 64);
  const BufferHandle out = buffer(4 * 64);
  Launch early = launch("consume_without_waiting", 1, 64, {tensor_arg(1)});
  early.flags.pdl = true;
  const ResolvedPlan plan = chain({launch("produce", 1, 64, {tensor_arg(0), int_arg(300'000)}), early});
  for (const ClockMethod method : {ClockMethod::kEvents, ClockMethod::kGraph}) {
    EXPECT_GT(median_of({std::vector<Slot>(8, slot(plan, {p, out})), CacheState::kCold, method}), 295'000)
        << to_string(method);
  }
}

TEST_F(Timing, AGraphOfLaunchesIsInsideTheWindow) {
  ResolvedPlan plan;
  for (int i = 0; i < 3; ++i) {
    plan.launches.push_back(launch("spin", 1, 1, {int_arg(100'000 * (i + 1))}));
  }
  for (const ClockMethod method : {ClockMethod::kEvents, ClockMethod::kGraph, ClockMethod::kCupti}) {
    const double found = median_of({std::vector<Slot>(6, slot(plan, {})), CacheState::kCold, method});
    EXPECT_GT(found, 295'000) << to_string(method);  // as long as the longest
    EXPECT_LT(found, 450'000) << to_string(method);  // side by side: the sum would be 600 us
  }
}

TEST_F(Timing, ARefusedLaunchBehindTheGateLeavesTheDeviceUsable) {
  const BufferHandle p = buffer(4 * 64);
  ASSERT_TRUE(device().zero(p));
  const ResolvedPlan good = chain({launch("add", 1, 64, {tensor_arg(0), int_arg(1)})});
  const ResolvedPlan bad = chain({launch("add", 1, 2048, {tensor_arg(0), int_arg(1)})});
  const auto samples = device().time({{slot(good, {p}), slot(bad, {p})}, CacheState::kCold, ClockMethod::kEvents});
  ASSERT_FALSE(samples);
  EXPECT_EQ(samples.error().kind, DeviceFault::Kind::kLaunchRefused);
  EXPECT_GT(time({{slot(good, {p})}, CacheState::kCold, ClockMethod::kEvents})[0].nanoseconds, 0);
}

TEST_F(Timing, AKernelWithALargeFrameDoesNotBlockTheGate) {
  const BufferHandle out = buffer(4 * 256);
  const ResolvedPlan plan = chain({launch("local_frame", 1, 256, {tensor_arg(0), int_arg(3)})});
  EXPECT_GT(time({std::vector<Slot>(3, slot(plan, {out})), CacheState::kCold, ClockMethod::kEvents})[0].nanoseconds, 0);
}

// Whatever a first launch needs (code, local memory, room for a cooperative grid) has to be there before the gate
// closes.
TEST_F(Timing, EveryKindOfLaunchMayBeTheFirstBehindTheGate) {
  const BufferHandle counter = buffer(4);
  const BufferHandle out = buffer(4 * 1024);
  ASSERT_TRUE(device().zero(counter));
  Launch meet =
      launch("meet", static_cast<std::uint32_t>(device().facts().sm_count), 32, {tensor_arg(0), tensor_arg(1)});
  meet.flags.cooperative = true;
  Launch cluster = launch("cluster_ranks", 32, 128, {tensor_arg(1)});
  cluster.cluster = {16, 1, 1};
  cluster.flags.non_portable_cluster = true;
  Launch shared = launch("big_shared", 2, 256, {tensor_arg(1), int_arg(50'000)});
  shared.shared_bytes = 200'000;
  for (const Launch& first : {meet, cluster, shared}) {
    module = load(kTestKernels);
    const ResolvedPlan plan = chain({first});
    EXPECT_GT(time({{slot(plan, {counter, out})}, CacheState::kCold, ClockMethod::kEvents})[0].nanoseconds, 0)
        << first.entry;
  }
}

TEST_F(Timing, RefusesClocksThatItDoesNotHave) {
  const auto samples = device().time({{}, CacheState::kCold, ClockMethod::kEstimate});
  ASSERT_FALSE(samples);
  EXPECT_EQ(samples.error().kind, DeviceFault::Kind::kUnsupported);
}

TEST_F(Timing, AnEmptyBatchHasNoSamples) {
  EXPECT_TRUE(time({{}, CacheState::kCold, ClockMethod::kEvents}).empty());
}

// ---- facts, lock, telemetry
// ------------------------------------------------------------------------------------------

struct FactsOnGpu : GpuTest {};

TEST_F(FactsOnGpu, AreComplete) {
  const DeviceFacts& facts = device().calibrate();
  std::printf("%s %s, driver %s, %d SMs, L2 %lld MiB, copy %.2f TB/s\n", facts.name.c_str(), facts.arch.c_str(),
              facts.driver.c_str(), facts.sm_count, static_cast<long long>(facts.l2_bytes >> 20),
              facts.dram_bytes_per_second / 1e12);
  EXPECT_EQ(facts.kind, "cuda");
  EXPECT_TRUE(facts.uuid.starts_with("GPU-"));
  EXPECT_TRUE(facts.arch.starts_with("sm_"));
  EXPECT_NE(facts.driver.find("CUDA "), std::string::npos);
  EXPECT_GT(facts.sm_count, 0);
  EXPECT_GT(facts.shared_per_block, 48 << 10);
  EXPECT_GE(facts.shared_per_sm, facts.shared_per_block);
  EXPECT_GT(facts.dram_bytes_per_second, 1e11);
  EXPECT_LT(facts.dram_bytes_per_second, 2e13);
  if (facts.max_cluster > 1) {
    EXPECT_EQ(facts.cluster_slots.at(1), facts.sm_count);
    EXPECT_LE(facts.cluster_slots.at(2), facts.sm_count / 2);
    EXPECT_LE(facts.cluster_slots.at(8), facts.cluster_slots.at(4) / 2);
  }
}

TEST_F(FactsOnGpu, TheListShowsTheSameDevice) {
  const auto devices = list_cuda_devices();
  ASSERT_TRUE(devices) << to_string(devices.error());
  EXPECT_EQ(devices->front().uuid, device().facts().uuid);
  EXPECT_EQ(devices->front().sm_count, device().facts().sm_count);
  EXPECT_TRUE(cuda_report().usable);
}

TEST_F(FactsOnGpu, WorkTakesTheLock) {
  CudaOptions options;
  options.lock_folder = testing::TempDir();
  options.lock_wait = std::chrono::milliseconds(100);
  const auto first = open_cuda_device(options);
  ASSERT_TRUE(first);
  const std::string uuid = list_cuda_devices()->front().uuid;
  {
    EXPECT_TRUE(cuda::GpuLock::acquire(options.lock_folder, uuid, std::chrono::milliseconds(0)));
  }  // opening does not
  EXPECT_GT((*first)->calibrate().dram_bytes_per_second, 0);
  EXPECT_FALSE(cuda::GpuLock::acquire(options.lock_folder, uuid, std::chrono::milliseconds(0)));
  const auto second = open_cuda_device(options);
  ASSERT_TRUE(second);
  EXPECT_EQ((*second)->calibrate().dram_bytes_per_second, 0);
  EXPECT_NE((*second)->facts().source.find("in use by"), std::string::npos);
  const auto harness = compile(harness::harness_build_request((*second)->facts().arch));
  EXPECT_EQ((*second)->use_harness(*harness).error().kind, DeviceFault::Kind::kLost);
}

TEST_F(FactsOnGpu, TelemetryIsReadWhereNvmlIsThere) {
  const auto nvml = cuda::open_nvml_library();
  if (!nvml) {
    GTEST_SKIP() << to_string(nvml.error());
  }
  const cuda::Telemetry seen = (*nvml)->look(device().facts().uuid);
  std::printf("%s\n", cuda_report().telemetry.empty() ? "no telemetry" : cuda_report().telemetry.front().c_str());
  if (seen.sm_megahertz) {
    EXPECT_GT(*seen.sm_megahertz, 100);
    EXPECT_LT(*seen.sm_megahertz, 4000);
  }
  if (seen.power_watts) {
    EXPECT_LT(*seen.power_watts, 2000);
  }
}

}  // namespace
}  // namespace kf::gpu_tests
