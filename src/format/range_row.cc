// SPDX-License-Identifier: Apache-2.0
#include "format/range_row.h"

#include <cstdlib>

namespace kf {
namespace {

constexpr std::string_view kName = "range of ", kMost = "at most ", kBelow = ", below ";

}  // namespace

AdmissionRow row_of(const OutputRange& range) {
  std::string found = std::string(kMost) + std::to_string(range.largest);
  for (const std::string& dim : range.below) {
    found += std::string(kBelow) + dim;
  }
  return {std::string(kName) + range.output, "known", std::move(found), true};
}

std::optional<OutputRange> range_of(const AdmissionRow& row) {
  if (!row.name.starts_with(kName) || !row.found.starts_with(kMost)) {
    return std::nullopt;
  }
  OutputRange range{row.name.substr(kName.size()), std::strtod(row.found.c_str() + kMost.size(), nullptr), {}};
  for (std::size_t at = row.found.find(kBelow); at != std::string::npos;) {
    const std::size_t first = at + kBelow.size();
    at = row.found.find(kBelow, first);
    range.below.push_back(row.found.substr(first, at == std::string::npos ? at : at - first));
  }
  return range;
}

}  // namespace kf
