// SPDX-License-Identifier: Apache-2.0
#include "baseline_tuning.h"

#include "jobs.h"
#include "records.h"
#include "settle.h"

namespace kf {
namespace {

Candidate recorded(const std::string& name, const std::string& source) {
  OrErrors<Candidate> candidate = parse_candidate(source, "baseline " + name);
  if (!candidate) {
    throw Fatal("the settled source of the baseline " + name + " in the ledger cannot be read:\n" +
                to_string(candidate.error()));
  }
  return std::move(*candidate);
}

void tell(const Factory& factory, const std::string& name, const std::vector<std::string>& notes) {
  for (const std::string& note : notes) {
    if (factory.observe) {
      factory.observe({Event::Kind::kNote, {}, "baseline " + name + ": " + note, {}});
    }
  }
}

}  // namespace

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
  if (factory.ledger != nullptr) {
    if (const std::optional<std::string> source = read_settled_baseline(*factory.ledger, name)) {
      return known_.emplace(name, source->empty() ? baseline : recorded(name, *source)).first->second;
    }
  }
  EvaluationSettings everywhere = settings;
  everywhere.time_cases.clear();
  everywhere.scaled_cases = 0;
  Settled settled = settle_tune(factory, jobs, baseline, everywhere, stop);
  if (factory.ledger != nullptr) {
    write_settled_baseline(*factory.ledger, name, settled.candidate ? settled.candidate->source : "", settled.notes);
  }
  tell(factory, name, settled.notes);
  return known_.emplace(name, settled.candidate ? std::move(*settled.candidate) : baseline).first->second;
}

}  // namespace kf
