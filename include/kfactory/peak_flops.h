// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <optional>

#include <kfactory/device_facts.h>

namespace kf {

// The most operations a second that a chip's tensor cores do by its vendor, dense, whatever they add up in: of operands
// of 16 bits, and of the narrowest that it has.
struct PeakFlops {
  double of_16_bits = 0, of_the_narrowest = 0;
};

// From the table of targets: the first chip of the device's architecture, times what the device does more in float32
// than that chip. nullopt: the table has no chip of the architecture, so nothing is known.
std::optional<PeakFlops> peak_flops(const DeviceFacts& facts);

}  // namespace kf
