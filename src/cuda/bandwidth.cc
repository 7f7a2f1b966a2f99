// SPDX-License-Identifier: Apache-2.0
#include "cuda/bandwidth.h"

#include <algorithm>
#include <functional>

namespace kf::cuda {
namespace {

constexpr std::int64_t kPart = 512LL << 20;  // what one trial reads
constexpr int kParts = 2;                    // they take turns, so that the L2 holds none of the next one
constexpr int kTrials = 6;
constexpr unsigned kThreads = 256;
constexpr std::int64_t kBlockBytes = 16LL * 4 * kThreads;  // four vectors a thread

// No harness is loaded yet when a device describes itself, so these two come as PTX. Each block moves kBlockBytes;
// kf_reading stores only a sum that the contents do not have.
constexpr const char kKernels[] = R"(
.version 7.8
.target sm_90
.address_size 64
.visible .entry kf_copying(.param .u64 to, .param .u64 from)
{
  .reg .b64 %to, %from, %at;
  .reg .b32 %i, %t, %v<16>;
  ld.param.u64 %to, [to];
  ld.param.u64 %from, [from];
  mov.u32 %i, %ctaid.x;
  mov.u32 %t, %tid.x;
  mad.lo.u32 %i, %i, 1024, %t;
  mul.wide.u32 %at, %i, 16;
  add.u64 %from, %from, %at;
  add.u64 %to, %to, %at;
  ld.global.cs.v4.u32 {%v0, %v1, %v2, %v3}, [%from];
  ld.global.cs.v4.u32 {%v4, %v5, %v6, %v7}, [%from+4096];
  ld.global.cs.v4.u32 {%v8, %v9, %v10, %v11}, [%from+8192];
  ld.global.cs.v4.u32 {%v12, %v13, %v14, %v15}, [%from+12288];
  st.global.cs.v4.u32 [%to], {%v0, %v1, %v2, %v3};
  st.global.cs.v4.u32 [%to+4096], {%v4, %v5, %v6, %v7};
  st.global.cs.v4.u32 [%to+8192], {%v8, %v9, %v10, %v11};
  st.global.cs.v4.u32 [%to+12288], {%v12, %v13, %v14, %v15};
  ret;
}
.visible .entry kf_reading(.param .u64 to, .param .u64 from)
{
  .reg .b64 %to, %from, %at;
  .reg .b32 %i, %t, %v<16>;
  .reg .pred %p;
  ld.param.u64 %to, [to];
  ld.param.u64 %from, [from];
  mov.u32 %i, %ctaid.x;
  mov.u32 %t, %tid.x;
  mad.lo.u32 %i, %i, 1024, %t;
  mul.wide.u32 %at, %i, 16;
  add.u64 %from, %from, %at;
  ld.global.cs.v4.u32 {%v0, %v1, %v2, %v3}, [%from];
  ld.global.cs.v4.u32 {%v4, %v5, %v6, %v7}, [%from+4096];
  ld.global.cs.v4.u32 {%v8, %v9, %v10, %v11}, [%from+8192];
  ld.global.cs.v4.u32 {%v12, %v13, %v14, %v15}, [%from+12288];
  add.u32 %v0, %v0, %v1;
  add.u32 %v2, %v2, %v3;
  add.u32 %v4, %v4, %v5;
  add.u32 %v6, %v6, %v7;
  add.u32 %v8, %v8, %v9;
  add.u32 %v10, %v10, %v11;
  add.u32 %v12, %v12, %v13;
  add.u32 %v14, %v14, %v15;
  add.u32 %v0, %v0, %v2;
  add.u32 %v4, %v4, %v6;
  add.u32 %v8, %v8, %v10;
  add.u32 %v12, %v12, %v14;
  add.u32 %v0, %v0, %v4;
  add.u32 %v8, %v8, %v12;
  add.u32 %v0, %v0, %v8;
  setp.eq.u32 %p, %v0, 1;
  @%p st.global.u32 [%to], %v0;
  ret;
}
)";

// The best rate of some trials of `move`, which moves `bytes` and is told which part to read.
double best_rate(Gpu& gpu, double bytes, const std::function<void(int part)>& move) {
  const Event start = make_event(gpu, true);
  const Event stop = make_event(gpu, true);
  float best = 0.0f;
  for (int trial = 0; trial < kTrials; ++trial) {
    gpu.check(gpu->cuEventRecord(start.get(), gpu.stream()), "cuEventRecord");
    move(trial % kParts);
    gpu.check(gpu->cuEventRecord(stop.get(), gpu.stream()), "cuEventRecord");
    gpu.wait(kOwnDeadline);
    float milliseconds = 0.0f;
    gpu.check(gpu->cuEventElapsedTime(&milliseconds, start.get(), stop.get()), "cuEventElapsedTime");
    best = trial == 0 ? milliseconds : std::min(best, milliseconds);
  }
  return best > 0.0f ? bytes / (1e-3 * static_cast<double>(best)) : 0.0;
}

}  // namespace

double memory_rate(Gpu& gpu) {
  std::size_t free = 0;
  std::size_t total = 0;
  gpu.check(gpu->cuMemGetInfo(&free, &total), "cuMemGetInfo");
  if (free < static_cast<std::size_t>(4 * kParts * kPart)) {
    return 0.0;
  }
  const Memory from = make_memory(gpu, kParts * kPart);
  const Memory to = make_memory(gpu, kParts * kPart);
  // Every word 0x5A5A5A5A: sixteen of them add up to 0xA5A5A5A0, never to 1.
  gpu.check(gpu->cuMemsetD8Async(from.get(), 0x5A, static_cast<std::size_t>(kParts * kPart), gpu.stream()),
            "cuMemsetD8Async");
  const auto at = [](const Memory& memory, int part) {
    return memory.get() + static_cast<CUdeviceptr>(part) * static_cast<CUdeviceptr>(kPart);
  };
  double best = best_rate(gpu, 2.0 * static_cast<double>(kPart), [&](int part) {
    gpu.check(gpu->cuMemcpyDtoDAsync(at(to, part), at(from, part), static_cast<std::size_t>(kPart), gpu.stream()),
              "cuMemcpyDtoDAsync");
  });
  CUmodule loaded = nullptr;
  if (gpu->cuModuleLoadDataEx(&loaded, kKernels, 0, nullptr, nullptr) != CUDA_SUCCESS) {
    return best;
  }
  const Module module(gpu, loaded);
  for (const auto& [name, passes] : {std::pair{"kf_copying", 2.0}, std::pair{"kf_reading", 1.0}}) {
    CUfunction function = nullptr;
    gpu.check(gpu->cuModuleGetFunction(&function, loaded, name), "cuModuleGetFunction");
    const double rate = best_rate(gpu, passes * static_cast<double>(kPart), [&](int part) {
      CUdeviceptr target = at(to, part), source = at(from, part);
      void* parameters[] = {&target, &source};
      CUlaunchConfig config{
          static_cast<unsigned>(kPart / kBlockBytes), 1, 1, kThreads, 1, 1, 0, gpu.stream(), nullptr, 0};
      gpu.check(gpu->cuLaunchKernelEx(&config, function, parameters, nullptr), name);
    });
    best = std::max(best, rate);
  }
  return best;
}

}  // namespace kf::cuda
