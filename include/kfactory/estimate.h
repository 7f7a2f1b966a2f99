// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cstdint>
#include <span>
#include <vector>

#include <kfactory/device_facts.h>
#include <kfactory/measurement.h>

// What an emulated launch cannot be faster than on the target that the emulator pretends to be. Never a time.

namespace kf {

// Nanoseconds. `total` is `latency` and the largest of the others.
struct Estimate {
  double latency = 0;  // of launching
  double dram = 0;     // distinct bytes at DRAM bandwidth
  double l2 = 0;       // sectors of all requests at the L2's rate
  double issue = 0;    // warp instructions at what the schedulers issue
  double shared = 0;   // wavefronts, one a clock and SM
  double tensor = 0;   // tensor operations at the dense f16 rate
  double total = 0;
  bool operator==(const Estimate&) const = default;
};
// Facts that the target lacks (0) are taken from the H200's: docs/emulator.md has the formulas.
Estimate estimate(const LaunchCounts& counts, const DeviceFacts& target);
// Launches one after another: the sum of each member.
Estimate estimate(std::span<const LaunchCounts> launches, const DeviceFacts& target);

// The counts of a launch of the same kernel that does other work in another grid: memory counts grow with the
// operation's bytes, all others with its flops.
LaunchCounts scaled(const LaunchCounts& counts, double bytes_ratio, double flops_ratio, std::int64_t blocks);

}  // namespace kf
