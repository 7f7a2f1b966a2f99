// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <kfactory/build.h>

#include <expected>
#include <string>

namespace kf::gpu_tests {

// Compiles with the NVRTC found at run time, in this process: PTX, cubin and nothing else of a Build. The error is the
// log, or why there is no NVRTC.
std::expected<Build, std::string> compile(const BuildRequest& request);

}  // namespace kf::gpu_tests
