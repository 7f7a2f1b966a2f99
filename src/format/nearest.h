// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <string>
#include <string_view>
#include <vector>

namespace kf {

// The name that was most likely meant: smallest edit distance, at most a third of the longer name; empty when
// there is none that close. Case-insensitive, so that "m" finds "M".
std::string nearest_name(std::string_view name, const std::vector<std::string>& names);
// "did you mean \"grid\"?", or empty.
std::string did_you_mean(std::string_view name, const std::vector<std::string>& names);
// "a, b, c".
std::string joined(const std::vector<std::string>& names);

}  // namespace kf
