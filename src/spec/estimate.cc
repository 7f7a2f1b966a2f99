// SPDX-License-Identifier: Apache-2.0
#include <kfactory/estimate.h>

#include <algorithm>
#include <cmath>

namespace kf {
namespace {

// One instruction a clock of each scheduler, one wavefront of shared memory a clock: CUDA C++ Programming Guide.
constexpr double kSchedulers = 4;
constexpr double kSectorBytes = 32;

double known(double value, double fallback) {
  return value > 0 ? value : fallback;
}

std::int64_t grown(std::int64_t count, double ratio) {
  return static_cast<std::int64_t>(std::llround(static_cast<double>(count) * ratio));
}

}  // namespace

Estimate estimate(const LaunchCounts& counts, const DeviceFacts& target) {
  const double sms = std::max(1, target.sm_count);
  // SMs that have a block at all.
  const double busy = std::clamp(static_cast<double>(counts.blocks), 1.0, sms);
  // A target that states no clock is taken to have 128 fp32 lanes an SM, two operations each a clock.
  const double clock = known(target.sm_hertz, known(target.fp32_flops_per_second, 66.9e12) / (2 * 128 * sms));
  const double of_all_sms = busy * clock / 1e9;  // clocks a nanosecond
  Estimate e;
  e.latency = known(target.launch_nanoseconds, 2200);
  e.dram = static_cast<double>(counts.dram_bytes) / known(target.dram_bytes_per_second, 4.8e12) * 1e9;
  e.l2 = kSectorBytes * static_cast<double>(counts.load_sectors + counts.store_sectors) /
         (known(target.l2_bytes_per_clock, 64) * of_all_sms);
  e.issue = static_cast<double>(counts.warp_instructions) / (kSchedulers * of_all_sms);
  e.shared = static_cast<double>(counts.shared_wavefronts) / of_all_sms;
  e.tensor = static_cast<double>(counts.tensor_flops) /
             (known(target.tensor_flops_per_second, 14.8 * known(target.fp32_flops_per_second, 66.9e12)) * busy / sms) *
             1e9;
  e.total = e.latency + std::max({e.dram, e.l2, e.issue, e.shared, e.tensor});
  return e;
}

Estimate estimate(std::span<const LaunchCounts> launches, const DeviceFacts& target) {
  Estimate sum;
  for (const LaunchCounts& counts : launches) {
    const Estimate one = estimate(counts, target);
    sum.latency += one.latency;
    sum.dram += one.dram;
    sum.l2 += one.l2;
    sum.issue += one.issue;
    sum.shared += one.shared;
    sum.tensor += one.tensor;
    sum.total += one.total;
  }
  return sum;
}

LaunchCounts scaled(const LaunchCounts& counts, double bytes_ratio, double flops_ratio, std::int64_t blocks) {
  LaunchCounts made = counts;
  made.blocks = blocks;
  for (std::int64_t* count : {&made.dram_bytes, &made.load_sectors, &made.store_sectors, &made.excess_load_sectors,
                              &made.excess_store_sectors, &made.global_requests}) {
    *count = grown(*count, bytes_ratio);
  }
  for (std::int64_t* count :
       {&made.warp_instructions, &made.lane_instructions, &made.shared_requests, &made.shared_wavefronts,
        &made.bank_conflicts, &made.barriers, &made.atomics, &made.tensor_flops}) {
    *count = grown(*count, flops_ratio);
  }
  for (auto& [kind, count] : made.mix) {
    count = grown(count, flops_ratio);
  }
  return made;
}

}  // namespace kf
