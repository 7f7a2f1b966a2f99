// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <optional>
#include <string>

namespace kf::emulator_test {

// PTX for sm_90a with line information and the toolkit's headers; nullopt when this machine has no NVRTC.
// Throws std::runtime_error with the log for source that does not compile.
std::optional<std::string> compile_to_ptx(const std::string& source);

}  // namespace kf::emulator_test
