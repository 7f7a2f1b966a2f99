// SPDX-License-Identifier: Apache-2.0
#include "settle.h"

#include <algorithm>

#include "cases.h"
#include "shapes.h"
#include "tune_times.h"

namespace kf {
namespace {

constexpr std::int32_t kQuads = 3;  // six launches of each point in each case; a rule spans several cases

}  // namespace

Settled settle_tune(const Factory& factory, JobBuilder& jobs, const Candidate& candidate,
                    const EvaluationSettings& settings, std::stop_token stop) {
  Settled settled;
  std::vector<Assignment> points = tune_points(candidate.plan);
  if (const auto most = static_cast<std::size_t>(std::max(settings.max_variants, 1)); points.size() > most) {
    settled.notes.push_back("settled among the first " + std::to_string(most) + " of " + std::to_string(points.size()) +
                            " tune points");
    points.resize(most);
  }
  const std::vector<Case> cases = choose_cases(*factory.spec, factory.facts, settings).time;
  if (points.size() < 2 || factory.rig == nullptr || cases.empty()) {
    return settled;
  }
  TuneTimes times = time_tune_points(factory, jobs, candidate, cases, std::move(points), kQuads, settings, stop);
  std::ranges::move(times.notes, std::back_inserter(settled.notes));
  const std::vector<Selection> selections = select_by_shape(cases, times.points, times.nanoseconds);
  if (selections.empty()) {
    settled.notes.emplace_back("no tune point ran on all timed cases; the one of the screening stays");
    return settled;
  }
  OrErrors<Candidate> chosen = settle(candidate, selections, "settled candidate");
  if (!chosen) {
    settled.notes.push_back("the tune points were not written down: " + to_string(chosen.error()));
    return settled;
  }
  for (const Selection& selection : selections) {
    settled.notes.push_back("settled on " + words(selection.set) +
                            (selection.when.empty() ? "" : " where " + selection.when));
  }
  settled.candidate = std::move(*chosen);
  return settled;
}

}  // namespace kf
