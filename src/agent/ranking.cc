// SPDX-License-Identifier: Apache-2.0
#include "agent/ranking.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <set>

namespace kf {
namespace {

bool counts(const Attempt& attempt) {
  return attempt.state == AttemptState::kMeasured && attempt.score &&
         attempt.score->against_baseline != Comparison::kRefused;
}

// Time against the baseline where there is one, else plain time: either is compared within one case only.
double figure_of(const CaseScore& score) {
  return score.to_baseline.samples > 0 ? score.to_baseline.median : score.candidate.median;
}

// Smaller is faster.
double cost_of(const Attempt& attempt, const std::map<std::string_view, std::size_t>& seen, std::size_t everywhere) {
  double sum = 0;
  int cases = 0;
  for (const CaseScore& score : attempt.score->cases) {
    if (seen.at(score.case_id) == everywhere && figure_of(score) > 0) {
      sum += std::log(figure_of(score));
      ++cases;
    }
  }
  return cases > 0 ? sum / cases : -std::log(std::max(attempt.score->speedup, 1e-9));
}

}  // namespace

std::vector<const Attempt*> ranked(std::span<const Attempt> attempts) {
  std::vector<const Attempt*> measured;
  std::set<std::string_view> codes;
  for (const Attempt& attempt : attempts) {
    if (counts(attempt) && (attempt.source_hash.empty() || codes.insert(attempt.source_hash).second)) {
      measured.push_back(&attempt);
    }
  }
  std::map<std::string_view, std::size_t> seen;
  for (const Attempt* attempt : measured) {
    for (const CaseScore& score : attempt->score->cases) {
      ++seen[score.case_id];
    }
  }
  std::vector<std::pair<double, const Attempt*>> order;
  for (const Attempt* attempt : measured) {
    order.emplace_back(cost_of(*attempt, seen, measured.size()), attempt);
  }
  std::ranges::sort(order, {}, [](const auto& entry) { return std::pair(entry.first, entry.second->id); });
  std::ranges::transform(order, measured.begin(), [](const auto& entry) { return entry.second; });
  return measured;
}

}  // namespace kf
