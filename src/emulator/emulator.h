// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cstdint>
#include <memory>

#include <kfactory/device.h>
#include <kfactory/device_facts.h>

namespace kf {

struct EmulatorOptions {
  std::uint64_t seed = 1;  // of the schedule: orders of warps and blocks
  std::int64_t memory_bytes = std::int64_t{8} << 30;
  // Lane-instructions that one launch may use; 0: what the launch deadline allows at kStepsPerMillisecond.
  std::uint64_t step_budget = 0;
  unsigned threads = 0;  // that carry out a launch; 0: as many as the processor has. No result depends on it.
};
// A launch deadline becomes a budget of steps, so that a verdict never depends on this machine's speed.
inline constexpr std::uint64_t kStepsPerMillisecond = 300'000;

// A device that executes the PTX of a build on the CPU and checks every access (docs/emulator.md). It
// pretends to be `target`: limits, SM count and the rates that its estimates use. facts().kind is
// "emulator". Each launch draws a new schedule from `options.seed`; equal calls give equal schedules.
OrFault<std::unique_ptr<Device>> open_emulator_device(const DeviceFacts& target, EmulatorOptions options = {});

}  // namespace kf
