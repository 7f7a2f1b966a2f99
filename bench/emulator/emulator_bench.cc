// SPDX-License-Identifier: Apache-2.0
// Speed of the emulator: lane-instructions a second of processor time, all threads together; by real time where the
// machine is free. The promise is 200 million on one core for plain fp32. The argument is the number of threads.
#include <benchmark/benchmark.h>

#include "emulator/emulator.h"

namespace kf {
namespace {

constexpr const char* kHead = R"(.version 8.8
.target sm_90a
.address_size 64
.visible .entry k(.param .u64 x, .param .u64 y, .param .u32 n)
{
.reg .pred %p<3>; .reg .b32 %r<8>; .reg .f32 %f<8>; .reg .b64 %d<6>;
.shared .align 4 .b8 s[1024];
ld.param.u64 %d1, [x]; ld.param.u64 %d2, [y]; ld.param.u32 %r1, [n];
mov.u32 %r2, %ctaid.x; mov.u32 %r3, %ntid.x; mov.u32 %r4, %tid.x; mad.lo.u32 %r2, %r2, %r3, %r4;
mad.wide.u32 %d3, %r2, 4, %d1; mad.wide.u32 %d4, %r2, 4, %d2; ld.global.f32 %f1, [%d3];
mov.f32 %f2, 0f3F7FFF00; mov.f32 %f3, 0f3A83126F; mov.u32 %r5, 0;
mov.u64 %d5, s; mul.wide.u32 %d3, %r4, 4; add.u64 %d5, %d5, %d3;
LOOP:
)";
constexpr const char* kTail = R"(
add.u32 %r5, %r5, 1; setp.lt.u32 %p1, %r5, %r1; @%p1 bra LOOP;
st.global.f32 [%d4], %f1; ret;
})";
constexpr const char* kArithmetic =
    "fma.rn.f32 %f1, %f1, %f2, %f3; mul.f32 %f4, %f1, %f2; add.f32 %f5, %f4, %f3; fma.rn.f32 %f1, %f5, %f2, %f1;"
    "sub.f32 %f1, %f1, %f4; fma.rn.f32 %f1, %f1, %f2, %f3;";
constexpr const char* kGlobal = "ld.global.f32 %f4, [%d4]; add.f32 %f1, %f1, %f4; st.global.f32 [%d4], %f1;";
constexpr const char* kReadOnly = "mad.wide.u32 %d3, %r2, 4, %d1; ld.global.nc.f32 %f4, [%d3]; add.f32 %f1, %f1, %f4;";
constexpr const char* kShared =
    "st.shared.f32 [%d5], %f1; ld.shared.f32 %f4, [%d5]; add.f32 %f1, %f1, %f4; bar.sync 0;";

void run(benchmark::State& state, const char* body, int instructions) {
  constexpr std::int64_t kBlocks = 64, kThreads = 256, kRounds = 200;
  EmulatorOptions options;
  options.threads = static_cast<unsigned>(state.range(0));
  auto device = open_emulator_device(*named_target("H200"), options).value();
  Build build;
  build.ptx = std::string(kHead) + body + kTail;
  const ModuleHandle module = device->load(build).value();
  std::vector<BufferHandle> buffers;
  for (int i = 0; i < 2; ++i) {
    buffers.push_back(device->allocate({kBlocks * kThreads * 4, 0}).value());
    if (!device->zero(buffers.back())) state.SkipWithError("zero failed");
  }
  ResolvedPlan plan;
  Launch launch;
  launch.id = launch.entry = "k";
  launch.grid = {kBlocks, 1, 1};
  launch.block = {kThreads, 1, 1};
  launch.args = {{Arg::Kind::kTensor, 0, 0, 8}, {Arg::Kind::kTensor, 1, 0, 8}, {Arg::Kind::kScalar, 0, kRounds, 4}};
  plan.launches = {launch};
  for (auto _ : state)
    if (auto done = device->run(module, plan, buffers, {}, {}); !done) state.SkipWithError(done.error().detail.c_str());
  state.counters["lane_instructions"] =
      benchmark::Counter(static_cast<double>(kBlocks * kThreads * kRounds) * (instructions + 3),
                         benchmark::Counter::kIsIterationInvariantRate);
}

void BM_Fp32Arithmetic(benchmark::State& state) {
  run(state, kArithmetic, 6);
}
void BM_GlobalMemory(benchmark::State& state) {
  run(state, kGlobal, 3);
}
void BM_ReadOnlyLoads(benchmark::State& state) {
  run(state, kReadOnly, 3);
}
void BM_SharedMemoryWithBarrier(benchmark::State& state) {
  run(state, kShared, 4);
}
BENCHMARK(BM_Fp32Arithmetic)->Arg(1)->Arg(2)->MeasureProcessCPUTime()->Unit(benchmark::kMillisecond);
BENCHMARK(BM_GlobalMemory)->Arg(1)->Arg(2)->MeasureProcessCPUTime()->Unit(benchmark::kMillisecond);
BENCHMARK(BM_ReadOnlyLoads)->Arg(1)->Arg(2)->MeasureProcessCPUTime()->Unit(benchmark::kMillisecond);
BENCHMARK(BM_SharedMemoryWithBarrier)->Arg(1)->Arg(2)->MeasureProcessCPUTime()->Unit(benchmark::kMillisecond);

}  // namespace
}  // namespace kf
