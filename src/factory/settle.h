// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <optional>
#include <stop_token>
#include <string>
#include <vector>

#include <kfactory/factory.h>

#include "jobs.h"

namespace kf {

// A winner's tune points on every timed case, and the candidate that follows from them: one without `tune`, whose
// `select` says which point holds where. Nothing where there is nothing to choose or no device to choose by.
struct Settled {
  std::optional<Candidate> candidate;
  std::vector<std::string> notes;
};
Settled settle_tune(const Factory& factory, JobBuilder& jobs, const Candidate& candidate,
                    const EvaluationSettings& settings, std::stop_token stop);

}  // namespace kf
