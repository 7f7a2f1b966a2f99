// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <map>
#include <mutex>
#include <stop_token>
#include <string>

#include <kfactory/factory.h>

namespace kf {

class JobBuilder;

// Baselines get the same care as candidates: the tune points of one are timed beside each other on every timed case,
// once a run (the ledger keeps what came out, for a run that is resumed), and what is compared with is the baseline
// settled by shape. Thread-safe.
class BaselineTuning {
 public:
  // As it is when it has one tune point, or none of them ran everywhere. Throws RigFailed, Interrupted.
  Candidate settled(const Factory& factory, JobBuilder& jobs, const std::string& name, const Candidate& baseline,
                    const EvaluationSettings& settings, const std::stop_token& stop);

 private:
  std::mutex mutex_;                        // held while points are timed
  std::map<std::string, Candidate> known_;  // by name
};

}  // namespace kf
