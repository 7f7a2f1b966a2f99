// SPDX-License-Identifier: Apache-2.0
#include "sabotage.h"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <string_view>

namespace kf {
namespace {

constexpr std::int64_t kFewest = 8;  // quads in both surroundings
// Surroundings have small effects of their own: another kernel before it leaves other power and other lines behind.
constexpr double kLeastEffect = 0.01;

// How far from 1.
std::string percent(double ratio) {
  char text[32];
  std::snprintf(text, sizeof text, "%.1f %%", 100 * std::abs(ratio - 1));
  return text;
}

}  // namespace

std::optional<Verdict> sabotage_in(const Measurement& measurement, double margin) {
  const double least = std::max(2 * margin, kLeastEffect);
  for (const CaseTiming& timing : measurement.cases) {
    for (std::size_t apart = 0; apart < timing.arms.size(); ++apart) {
      const std::string& name = timing.arms[apart];
      if (!name.ends_with(kApartSuffix)) {
        continue;
      }
      const std::string original = name.substr(0, name.size() - kApartSuffix.size());
      const auto beside = std::ranges::find(timing.arms, original);
      if (beside == timing.arms.end()) {
        continue;
      }
      const Interval ratio =
          ratio_interval(timing, static_cast<int>(beside - timing.arms.begin()), static_cast<int>(apart));
      if (ratio.samples < kFewest || (ratio.low <= 1 + least && ratio.high >= 1 - least)) {
        continue;
      }
      Verdict verdict;
      verdict.passed = false;
      verdict.gate = Gate::kTimedRun;
      verdict.reason = "sabotage";
      const bool slower = ratio.median > 1;
      verdict.message = original + " takes " + percent(ratio.median) + (slower ? " more" : " less") +
                        " time (95 %: " + percent(slower ? ratio.low : ratio.high) + " to " +
                        percent(slower ? ratio.high : ratio.low) +
                        ") beside the candidate than beside itself: a launch must leave nothing behind that changes "
                        "the launches after it (lines that stay in the L2, work that goes on after its end)";
      verdict.case_id = timing.case_id;
      return verdict;
    }
  }
  return std::nullopt;
}

}  // namespace kf
