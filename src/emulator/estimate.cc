// SPDX-License-Identifier: Apache-2.0
#include "estimate.h"

#include <algorithm>

namespace kf::emulator {
namespace {

// An empty kernel between two events on an H100 or H200 takes 2 to 2.5 us (DESIGN section 8 measured 2.4).
constexpr double kLaunchNanoseconds = 2200;
// CUDA C++ Programming Guide, "Arithmetic Instructions": four warp schedulers an SM, one instruction a clock
// each; 128 fp32 lanes an SM, so the fp32 rate of the datasheet gives the clock.
constexpr double kSchedulers = 4, kFp32Lanes = 128;
// L2 to SM: 64 bytes a clock and SM (Hopper tuning guide; measured copies inside the L2 stay below it).
constexpr double kL2BytesPerClock = 64;
// Dense f16 tensor rate over the fp32 rate, H100 datasheet: 989 / 66.9.
constexpr double kTensorOverFp32 = 14.8;

}  // namespace

Estimate estimate(const LaunchCounters& c, std::uint64_t dram_bytes, std::uint64_t blocks, const DeviceFacts& target) {
  Estimate e;
  const double sms = std::max(1, target.sm_count);
  const double busy = std::max(1.0, std::min(sms, static_cast<double>(blocks)));  // SMs that have a block at all
  const double fp32 = target.fp32_flops_per_second > 0 ? target.fp32_flops_per_second : 66.9e12;
  const double clock = fp32 / (2 * kFp32Lanes * sms);
  const double bandwidth = target.dram_bytes_per_second > 0 ? target.dram_bytes_per_second : 3.35e12;
  e.dram = static_cast<double>(dram_bytes) / bandwidth * 1e9;
  e.l2 = 32.0 * static_cast<double>(c.global_load_sectors + c.global_store_sectors) /
         (kL2BytesPerClock * busy * clock) * 1e9;
  e.issue = static_cast<double>(c.warp_instructions) / (kSchedulers * busy * clock) * 1e9;
  e.shared = static_cast<double>(c.shared_wavefronts) / (busy * clock) * 1e9;
  e.tensor = static_cast<double>(c.tensor_flops) / (fp32 * kTensorOverFp32 * busy / sms) * 1e9;
  e.latency = kLaunchNanoseconds;
  e.total = e.latency + std::max({e.dram, e.l2, e.issue, e.shared, e.tensor});
  return e;
}

double memset_estimate(std::int64_t bytes, const DeviceFacts& target) {
  const double bandwidth = target.dram_bytes_per_second > 0 ? target.dram_bytes_per_second : 3.35e12;
  return kLaunchNanoseconds + static_cast<double>(bytes) / bandwidth * 1e9;
}

}  // namespace kf::emulator
