// SPDX-License-Identifier: Apache-2.0
#include "compile/ptxas_report.h"

#include <algorithm>
#include <charconv>
#include <optional>

namespace kf {
namespace {

// The number in front of `words`, as in "12 bytes spill stores".
std::optional<std::int64_t> number_before(std::string_view line, std::string_view words) {
  const std::size_t at = line.find(words);
  if (at == line.npos || at == 0) {
    return std::nullopt;
  }
  const std::size_t end = line.find_last_not_of(' ', at - 1);
  if (end == line.npos) {
    return std::nullopt;
  }
  std::size_t start = end + 1;
  while (start > 0 && line[start - 1] >= '0' && line[start - 1] <= '9') {
    --start;
  }
  std::int64_t value = 0;
  const auto parsed = std::from_chars(line.data() + start, line.data() + end + 1, value);
  return parsed.ec == std::errc() ? std::optional(value) : std::nullopt;
}

std::string_view between_quotes(std::string_view line, std::size_t from) {
  const std::size_t open = line.find('\'', from);
  const std::size_t close = open == line.npos ? line.npos : line.find('\'', open + 1);
  return close == line.npos ? std::string_view{} : line.substr(open + 1, close - open - 1);
}

void read_properties(std::string_view line, KernelUse& use) {
  if (const auto bytes = number_before(line, "bytes stack frame")) {
    use.stack_bytes = std::max(use.stack_bytes, static_cast<int>(*bytes));
  }
  use.spill_store_bytes += static_cast<int>(number_before(line, "bytes spill stores").value_or(0));
  use.spill_load_bytes += static_cast<int>(number_before(line, "bytes spill loads").value_or(0));
}

void read_usage(std::string_view line, KernelUse& use) {
  use.registers = static_cast<int>(number_before(line, "registers").value_or(0));
  use.barriers = static_cast<int>(number_before(line, "barriers").value_or(0));
  use.static_shared_bytes = number_before(line, "bytes smem").value_or(0);
  if (const auto bytes = number_before(line, "bytes cumulative stack size")) {
    use.stack_bytes = static_cast<int>(*bytes);
  }
}

}  // namespace

std::vector<KernelUse> read_ptxas_report(std::string_view log) {
  std::vector<KernelUse> uses;
  while (!log.empty()) {
    const std::string_view line = log.substr(0, log.find('\n'));
    log.remove_prefix(std::min(line.size() + 1, log.size()));
    if (!line.starts_with("ptxas")) {
      continue;  // only ptxas' own lines: anything else in a log may be the candidate's text
    }
    if (const std::size_t at = line.find("Compiling entry function '"); at != line.npos) {
      uses.push_back({});
      uses.back().entry = between_quotes(line, at);
    } else if (!uses.empty() && line.find("bytes stack frame") != line.npos) {
      read_properties(line, uses.back());
    } else if (!uses.empty() && line.find("Used ") != line.npos) {
      read_usage(line, uses.back());
    }
  }
  return uses;
}

}  // namespace kf
