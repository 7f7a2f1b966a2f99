// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>

#include <kfactory/verdict.h>

namespace kf {

inline constexpr std::size_t kMaxSourceBytes = 256 * 1024;

// audit_source of <kfactory/audit.h> for a request that brings in-memory headers of our own.
std::optional<Verdict> audit_source_with(std::string_view source,
                                         std::span<const std::pair<std::string, std::string>> headers);

}  // namespace kf
