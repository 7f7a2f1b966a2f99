// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <string>
#include <vector>

#include <kfactory/job.h>

#include "tests/fakes/host_device.h"

// A small operation, y[m][n] = a * x[m][n] + w[n] in float32, as the jobs that a factory would make of it, and host
// kernels that compute it rightly, wrongly and dishonestly. For tests of gates, timing and rig.

namespace kf::fakes {

// x has rows LDX apart. M or N may be 0.
Case toy_case(std::int64_t m, std::int64_t n, std::int64_t ldx = 0);

// One launch of `entry` a case; its arguments are x, w, y, a, M, N, LDX, then the workspaces.
Arm toy_arm(const std::string& name, const std::string& entry, const std::vector<Case>& cases,
            const std::vector<Workspace>& workspaces = {});
ReferenceArm toy_reference(const std::vector<Case>& cases, std::int64_t slice_extent = 3);

// One check point a case and seed.
Job toy_check(const std::string& entry, const std::vector<Case>& cases, std::vector<std::uint64_t> seeds = {11, 22});
Job toy_time(const std::vector<std::string>& entries, const std::vector<Case>& cases);

// "good", "naive" and "reference"; and by name what is wrong: "nothing", "odd_elements", "half_rows", "no_tail",
// "past_the_end", "before_the_start", "into_padding", "changes_x", "ignores_w", "ignores_a", "copies_x", "nan",
// "low_precision", "counts_launches" (right for its first 6 launches), "remembers" (keeps its first answer),
// "uses_workspace" (right, and leaves its workspace dirty), "restores_workspace" (right), "needs_zero" (right only in a
// zeroed workspace), "differs_in_bits" (within tolerance, other bits each time), "crash", "hang", "exit", "illegal",
// "refused".
std::map<std::string, HostKernel> toy_kernels();

HostDeviceOptions toy_device();

}  // namespace kf::fakes
