// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <sys/types.h>

#include <vector>

namespace kf {

// From now on, what a child's children leave behind becomes a child of this process.
void adopt_orphans();
// Kills and reaps every child of this process that is not in `keep`, and what those leave behind, however often they
// left their group. Without /proc/<pid>/task/<pid>/children (a kernel option) only reaps what has ended.
void end_orphans(const std::vector<pid_t>& keep);

}  // namespace kf
