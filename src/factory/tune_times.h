// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <stop_token>
#include <string>
#include <vector>

#include <kfactory/factory.h>

#include "jobs.h"

namespace kf {

// Medians, in nanoseconds, of a candidate's tune points on timed cases.
struct TuneTimes {
  std::vector<Assignment> points;                // those that ran
  std::vector<std::vector<double>> nanoseconds;  // [point][case]; infinity where a point has no samples
  std::vector<std::string> notes;                // who left, and why
};

// The jobs have seeds of their own. A point whose outputs were wrong in any case leaves; one that could not run in a
// case has no samples there, and a note says why.
//
// All points in one job, interleaved: they meet the same clocks and temperatures. A point that a refusal names leaves
// and the rest is timed again; where it names none, each is timed alone, and those that are refused alone leave. Should
// the others still not run beside each other, the times that they had alone count. Throws RigFailed, Interrupted.
TuneTimes time_tune_points(const Factory& factory, JobBuilder& jobs, const Candidate& candidate,
                           const std::vector<Case>& cases, std::vector<Assignment> points, std::int32_t quads,
                           const EvaluationSettings& settings, const std::stop_token& stop);

// "ROWS=4 VEC=8"
std::string words(const Assignment& tune);

}  // namespace kf
