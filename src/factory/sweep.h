// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <expected>
#include <stop_token>
#include <string>
#include <vector>

#include <kfactory/factory.h>

#include "cases.h"
#include "costs.h"
#include "jobs.h"

namespace kf {

// Runs one job; a fault that the candidate caused is the verdict, one of the rig throws RigFailed, a stop Interrupted.
// `all` is empty unless the job keeps going.
CheckReport run_check_report(const Factory& factory, const Job& job, std::stop_token stop);
Verdict run_check_job(const Factory& factory, const Job& job, std::stop_token stop);
std::expected<TimeReport, Verdict> run_time_job(const Factory& factory, const Job& job, std::stop_token stop);

// Throws RigFailed ("protocol") unless a timing that passed has exactly one entry a case, in the job's order.
void require_all_cases(const Job& job, const TimeReport& report);

// The tune point that counts, found without a model: every point is compiled and checked on the probe cases, the right
// ones are timed beside each other on the first timed cases, the fastest is taken. Without a device, or with a single
// point, the first one that builds; with keep_going also where none is right, so that the other gates are heard.
struct Sweep {
  std::expected<Arm, Verdict> probe;  // the chosen point built for the probe cases; or why the first point was refused
  Assignment tune;
  std::int32_t variant = 0;  // index into tune_points(); VariantId::tune
  std::int32_t tried = 0;
  std::vector<std::string> notes;
  std::vector<Verdict> audited;  // with keep_going: what the binary audit refused of the chosen point
};
Sweep sweep_tune(const Factory& factory, JobBuilder& jobs, const Candidate& candidate, const ChosenCases& cases,
                 const EvaluationSettings& settings, std::stop_token stop, CostLog* costs = nullptr);

}  // namespace kf
