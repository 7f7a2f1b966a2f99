// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <kfactory/device_facts.h>

#include "block.h"

namespace kf::emulator {

// Where the bound comes from, in nanoseconds; `total` is what the launch cannot be faster than, launch
// latency included.
struct Estimate {
  double dram = 0, l2 = 0, issue = 0, shared = 0, tensor = 0, latency = 0;
  double total = 0;
};

// From what one launch did. `dram_bytes`: distinct bytes that it touched in global memory.
Estimate estimate(const LaunchCounters& counters, std::uint64_t dram_bytes, std::uint64_t blocks,
                  const DeviceFacts& target);
double memset_estimate(std::int64_t bytes, const DeviceFacts& target);

}  // namespace kf::emulator
