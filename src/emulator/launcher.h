// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cstdint>
#include <span>

#include <kfactory/device.h>

#include "block.h"
#include "buffers.h"
#include "estimate.h"

namespace kf::emulator {

struct PlanRun {
  const Program* program = nullptr;
  const ResolvedPlan* plan = nullptr;
  std::span<const BufferHandle> tensors, workspaces;
  std::span<const std::int64_t> slice_offsets;
  std::uint64_t seed = 0, step_budget = 0;
  bool profile = false;
};

// Carries out the launches of a plan one after another. Returns the estimate in nanoseconds (0 unless
// profiled). Faults: kLaunchRefused for limits, kUnsupported, kChecker, kTimeout.
OrFault<double> run_plan(const PlanRun& run, Buffers& buffers, GlobalMemory& memory, const DeviceFacts& target);

}  // namespace kf::emulator
