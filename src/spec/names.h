// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace kf {

// Why `name` cannot name an axis, type, tensor, kernel or tune value; nullopt: it can. Names are C identifiers of at
// most 64 characters, no C++ keyword, nothing that an expression reads otherwise (min, sm_count, ...).
std::optional<std::string> why_no_name(std::string_view name);

// The same for a -D name: three letters or more (short macros break the toolkit's own headers, where N and D are
// template parameters), not beginning with KF_ or an underscore.
std::optional<std::string> why_no_define(std::string_view name);

bool is_identifier(std::string_view name);

// sm_count, l2_bytes, smem_per_block, smem_per_sm.
const std::vector<std::string>& device_names();

}  // namespace kf
