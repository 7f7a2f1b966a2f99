// SPDX-License-Identifier: Apache-2.0
// What is said of attempts and scores in the same words everywhere.
#include <kfactory/attempt.h>

#include <algorithm>

namespace kf {
namespace {

std::string cases_of(const std::string& set) {
  if (set == "held_out") {
    return "held-out cases";
  }
  if (set == "time") {
    return "timed cases";
  }
  return set == "neighbours" ? "generated cases" : set + " cases";
}

}  // namespace

bool counts_in(const Score& score, const CaseScore& of) {
  return !of.scaled_from.empty() ||
         std::ranges::none_of(score.cases, [](const CaseScore& other) { return !other.scaled_from.empty(); });
}

std::int64_t cases_in_speedup(const Score& score) {
  return std::ranges::count_if(score.cases, [&](const CaseScore& of) {
    return counts_in(score, of) && of.to_baseline.samples > 0 && of.to_baseline.median > 0;
  });
}

std::string to_string(const std::vector<CheckedSet>& checked) {
  std::string text, why;
  for (const CheckedSet& of : checked) {
    const std::string all = std::to_string(of.checked + of.left_out) + " " + cases_of(of.set);
    text += text.empty() ? "" : ", ";
    text += of.left_out == 0 ? all : (of.checked == 0 ? "none" : std::to_string(of.checked)) + " of " + all;
    if (of.left_out > 0 && why.find(of.why) == std::string::npos) {
      why += (why.empty() ? "" : "; ") + of.why;
    }
  }
  return why.empty() ? text : text + " (the others were left out: " + why + ")";
}

}  // namespace kf
