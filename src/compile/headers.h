// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <optional>
#include <string_view>
#include <utility>
#include <vector>

namespace kf {

// Headers that a candidate may include: the toolkit's device headers, and stand-ins of our own for headers that
// people include by habit and that NVRTC either has built in (cuda_runtime.h) or has no text for (cstdint).
bool is_allowed_header(std::string_view name);
// One line for error messages.
std::string_view allowed_headers_text();
// The stand-ins, as NVRTC's in-memory headers: name and text.
const std::vector<std::pair<std::string_view, std::string_view>>& stand_in_headers();

}  // namespace kf
