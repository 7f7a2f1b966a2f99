// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <optional>
#include <vector>

#include "gates/launch_check.h"

namespace kf {

// Launches on a disturbed device (Device::run_disturbed): most of the multiprocessors held by other work, memory
// traffic, pauses between launches, other leftovers in shared memory. What is right only when nothing else happens is
// refused: races that a quiet device hides, time in the place of synchronisation, blocks that wait for each other
// without a cooperative launch.

// The check points on which a job does this: few small cases when screening, more when confirming.
std::vector<const CheckPoint*> points_to_disturb(const Job& job, const std::string& device_kind);

// Every launch must be within tolerance of the reference; where the spec promises determinism, equal bit for bit to an
// undisturbed launch on the same contents. `number` counts the job's points, so that they meet different disturbances.
// `right_so_far`: the job's undisturbed launches were right, so that a refusal here says something about timing.
std::optional<Verdict> check_disturbed(LaunchChecker& checker, const Job& job, const CheckPoint& point, int number,
                                       const std::string& device_kind, Gate gate, bool right_so_far);

}  // namespace kf
