// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <string>
#include <string_view>

#include "rig/local_rig.h"

namespace kf {

// "good", or how the worker or its job children misbehave.
int worker_in_way(std::string_view way);

// A rig on this test binary. Deadlines are short.
RigOptions rig_options(const std::string& way);

}  // namespace kf
