// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cstdint>
#include <span>

#include <kfactory/device.h>

#include "block.h"
#include "buffers.h"
#include "crew.h"

namespace kf::emulator {

struct PlanRun {
  const Program* program = nullptr;
  const ResolvedPlan* plan = nullptr;
  std::span<const BufferHandle> tensors, workspaces;
  std::span<const std::int64_t> slice_offsets;
  std::uint64_t seed = 0, step_budget = 0;
  bool profile = false;
  Crew* crew = nullptr;  // null: one thread
  const Disturbance* disturbance = nullptr;
};

// Carries out the launches of a plan one after another. Returns what each did (nothing unless profiled). Faults:
// kLaunchRefused for limits, kUnsupported, kChecker, kTimeout.
OrFault<std::vector<LaunchCounts>> run_plan(const PlanRun& run, Buffers& buffers, GlobalMemory& memory,
                                            const DeviceFacts& target);
// Bytes that are written, or read and written, by all SMs at once: a memset, a copy.
LaunchCounts bytes_moved(std::string id, std::int64_t bytes, const DeviceFacts& target);

}  // namespace kf::emulator
