// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <optional>
#include <span>
#include <stop_token>
#include <string>
#include <vector>

#include <kfactory/factory.h>

#include "costs.h"
#include "jobs.h"

namespace kf {

// The cases that compute-sanitizer's tools get: the two largest of a quarter of a mebibyte at most (its tools slow a
// kernel down a hundredfold, and the smallest cases hide races between warps), else the smallest one.
std::vector<Case> sanitizer_cases(const std::vector<Case>& checked);

// What compute-sanitizer says of the candidate, on the worker's host. Evidence, never a verdict: a rig that fails here
// is told in `not_run`.
SanitizerReport ask_sanitizer(const Factory& factory, JobBuilder& jobs, const Candidate& candidate,
                              const std::vector<Case>& checked, const Assignment& tune,
                              const EvaluationSettings& settings, CostLog& costs, std::stop_token stop);

// One line a tool: "compute-sanitizer 2025.3.1 racecheck: 1 error, 0 warnings".
std::vector<std::string> lines_of(const SanitizerReport& report);

}  // namespace kf
