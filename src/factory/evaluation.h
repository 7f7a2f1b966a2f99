// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <stop_token>

#include <kfactory/factory.h>

#include "jobs.h"

namespace kf {

// evaluate() with a JobBuilder that outlives one candidate, so that references and baselines are built once a run.
Evaluation evaluate_with(const Factory& factory, JobBuilder& jobs, const Candidate& candidate,
                         const EvaluationSettings& settings, std::stop_token stop);

}  // namespace kf
