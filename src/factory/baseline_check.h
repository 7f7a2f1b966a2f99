// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <map>
#include <mutex>
#include <optional>
#include <stop_token>
#include <string>
#include <utility>
#include <vector>

#include <kfactory/factory.h>

namespace kf {

class JobBuilder;

// A baseline that gives a wrong result in a timed case.
struct BaselineFailure {
  std::string baseline, case_id, message;
};

// Whether the spec's CUDA baselines compute the timed cases rightly, with the contents that they are timed on: found
// out once a run for each pair, in jobs of their own (one a baseline). A baseline that is wrong in a case is no rival
// there. Thread-safe.
class BaselineCheck {
 public:
  std::vector<BaselineFailure> failures(const Factory& factory, JobBuilder& jobs, const std::vector<Case>& cases,
                                        const EvaluationSettings& settings, const std::stop_token& stop);

 private:
  std::mutex mutex_;                                                                   // held while a check runs
  std::map<std::pair<std::string, std::string>, std::optional<std::string>> checked_;  // (baseline, case): why wrong
};

// Removes what failing baselines and their controls contributed to a measurement, and says so in its notes. A second
// time does nothing.
void drop_failing_baselines(Measurement& measurement, const std::vector<BaselineFailure>& failures);

}  // namespace kf
