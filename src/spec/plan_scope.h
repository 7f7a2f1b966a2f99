// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <string>
#include <utility>
#include <vector>

#include <kfactory/plan.h>

namespace kf {

// What the expressions of a plan may name for one case on one device: axes, sizes and alignments of the case, facts of
// the device, the assignment, and the values of "define" in their order (each sees those before it).
struct PlanScope {
  Scope scope;
  std::vector<std::pair<std::string, std::int64_t>> macros;  // defines, then tune names: what -D gives the source
};
OrError<PlanScope> plan_scope(const Spec& spec, const LaunchPlan& plan, const Case& of, const Assignment& assignment,
                              const DeviceFacts& facts);

}  // namespace kf
