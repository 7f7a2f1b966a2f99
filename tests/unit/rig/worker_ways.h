// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <string>
#include <string_view>

#include "rig/local_rig.h"

namespace kf {

// "good", or how the worker or its job children misbehave.
int worker_in_way(std::string_view way);
// One job in a file, as a tool that watches a process has it done.
int one_job_in_way(std::string_view way, const std::string& job, const std::string& answer);

// A rig on this test binary. Deadlines are short.
RigOptions rig_options(const std::string& way);

}  // namespace kf
