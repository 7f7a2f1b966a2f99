// SPDX-License-Identifier: Apache-2.0
#include "http.h"

#include <algorithm>

namespace kf {

std::optional<std::string> HttpHead::find(std::string_view lower_case_name) const {
  const auto found =
      std::ranges::find(headers, lower_case_name, [](const auto& header) -> std::string_view { return header.first; });
  return found == headers.end() ? std::nullopt : std::optional(found->second);
}

}  // namespace kf
