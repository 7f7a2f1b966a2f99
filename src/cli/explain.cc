// SPDX-License-Identifier: Apache-2.0
#include "explain.h"

#include <algorithm>
#include <cstdlib>
#include <sstream>

namespace kf {
namespace {

constexpr std::int64_t kAround = 2;

// Lines that a message names: "candidate.cu:12", "candidate.cu(12)", "line 12".
std::vector<SourcePlace> places_named(const std::string& message) {
  std::vector<SourcePlace> named;
  for (const std::string_view mark : {".cu:", ".cu(", "line "}) {
    for (std::size_t at = message.find(mark); at != std::string::npos; at = message.find(mark, at + 1)) {
      const long number = std::strtol(message.c_str() + at + mark.size(), nullptr, 10);
      if (number >= 1 && std::ranges::find(named, number, &SourcePlace::line) == named.end()) {
        SourcePlace place;
        place.line = number;
        place.role = "here";
        named.push_back(std::move(place));
      }
    }
  }
  return named;
}

}  // namespace

std::vector<ExplainedPlace> explain(const Verdict& verdict, std::string_view source) {
  std::vector<std::string> lines;
  std::istringstream text{std::string(source)};
  for (std::string line; std::getline(text, line);) {
    lines.push_back(line);
  }
  std::vector<ExplainedPlace> explained;
  for (const SourcePlace& place : verdict.finding ? verdict.finding->places : places_named(verdict.message)) {
    ExplainedPlace& made = explained.emplace_back(ExplainedPlace{place, 0, {}});
    const auto last = static_cast<std::int64_t>(lines.size());
    if (place.line < 1 || place.line > last) {
      continue;
    }
    made.first_line = std::max<std::int64_t>(place.line - kAround, 1);
    for (std::int64_t line = made.first_line; line <= std::min(place.line + kAround, last); ++line) {
      made.lines.push_back(lines[static_cast<std::size_t>(line - 1)]);
    }
  }
  return explained;
}

}  // namespace kf
