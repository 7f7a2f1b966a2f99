// SPDX-License-Identifier: Apache-2.0
#include "baseline_tuning.h"

#include "jobs.h"
#include "settle.h"

namespace kf {

Candidate BaselineTuning::settled(const Factory& factory, JobBuilder& jobs, const std::string& name,
                                  const Candidate& baseline, const EvaluationSettings& settings,
                                  const std::stop_token& stop) {
  if (tune_points(baseline.plan).size() < 2) {
    return baseline;
  }
  const std::lock_guard lock(mutex_);
  if (const auto known = known_.find(name); known != known_.end()) {
    return known->second;
  }
  EvaluationSettings everywhere = settings;
  everywhere.time_cases.clear();
  Settled settled = settle_tune(factory, jobs, baseline, everywhere, stop);
  return known_.emplace(name, settled.candidate ? std::move(*settled.candidate) : baseline).first->second;
}

}  // namespace kf
