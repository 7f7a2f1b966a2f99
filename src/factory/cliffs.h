// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <optional>
#include <stop_token>
#include <string>
#include <vector>

#include <kfactory/factory.h>

#include "costs.h"

namespace kf {

class JobBuilder;

// What a neighbour of a timed case may cost. `work_ratio`: its bytes or flops over the timed case's, whichever is more,
// at least 1. On a clock, 10 us are discounted for launches that both pay.
double cliff_limit(double factor, double timed_nanoseconds, double work_ratio, ClockMethod method);

// The candidate on close neighbours of up to three timed cases (one for each var axis, up to 1 GiB), whose outputs are
// verified as those of any timed launch; against its own time on the timed case in `measurement`. A refusal is that of
// a neighbour that does not build, is wrong, or is slower than LimitsSpec::cliff allows. nullopt: no timed case has a
// neighbour to look at; `notes` says so.
std::optional<Verdict> look_for_cliffs(const Factory& factory, JobBuilder& jobs, const Candidate& candidate,
                                       const Assignment& tune, const Measurement& measurement,
                                       const EvaluationSettings& settings, CostLog& costs,
                                       std::vector<std::string>& notes, const std::stop_token& stop);

}  // namespace kf
