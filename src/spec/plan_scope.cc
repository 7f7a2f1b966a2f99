// SPDX-License-Identifier: Apache-2.0
// Tune points, the choice among them, and what is compiled for one.
#include "plan_scope.h"

#include <algorithm>

namespace kf {
namespace {

bool sets_name(const LaunchPlan& plan, const std::string& name) {
  return std::ranges::any_of(plan.tune, [&](const auto& entry) { return entry.first == name; }) ||
         std::ranges::any_of(plan.select, [&](const auto& entry) { return entry.second.contains(name); });
}

void add_device(const DeviceFacts& facts, Scope& scope) {
  scope.values["sm_count"] = facts.sm_count;
  scope.values["l2_bytes"] = facts.l2_bytes;
  scope.values["smem_per_block"] = facts.shared_per_block;
  scope.values["smem_per_sm"] = facts.shared_per_sm;
}

std::optional<Error> add_tuned(const LaunchPlan& plan, const Assignment& assignment, PlanScope& into) {
  for (const auto& [name, value] : assignment) {
    if (!sets_name(plan, name)) {
      return Error{"$.tune", "the assignment sets \"" + name + "\", which is not in \"tune\"", ""};
    }
    if (into.scope.values.contains(name)) {
      return Error{"$.tune." + name, "\"" + name + "\" is an axis of the spec", "rename the tune value"};
    }
    into.scope.values[name] = value;
  }
  for (const auto& [name, values] : plan.tune) {
    if (!assignment.contains(name)) {
      return Error{"$.tune." + name, "\"" + name + "\" has no value in this assignment", ""};
    }
  }
  return std::nullopt;
}

std::optional<Error> add_defined(const LaunchPlan& plan, PlanScope& into) {
  for (const auto& [name, expression] : plan.defines) {
    const OrError<std::int64_t> value = expression.evaluate(into.scope);
    if (!value) {
      return value.error();
    }
    const auto [it, inserted] = into.scope.values.emplace(name, *value);
    if (!inserted && it->second != *value) {
      return Error{"$.define." + name,
                   "\"" + name + "\" is " + std::to_string(*value) + " here but the axis of that name is " +
                       std::to_string(it->second),
                   "rename the macro"};
    }
    into.macros.emplace_back(name, *value);
  }
  return std::nullopt;
}

}  // namespace

std::vector<Assignment> tune_points(const LaunchPlan& plan) {
  std::vector<Assignment> points{{}};
  for (const auto& [name, values] : plan.tune) {
    std::vector<Assignment> next;
    for (const Assignment& point : points) {
      for (const std::int64_t value : values) {
        next.push_back(point);
        next.back()[name] = value;
      }
    }
    points = std::move(next);
  }
  if (!plan.select.empty()) {
    points.resize(1);
  }
  return points;
}

OrError<Assignment> assignment_for(const LaunchPlan& plan, const Scope& scope, const Assignment& chosen) {
  for (const auto& [when, set] : plan.select) {
    if (when) {
      const OrError<std::int64_t> holds = when->evaluate(scope);
      if (!holds) {
        return std::unexpected(holds.error());
      }
      if (*holds == 0) {
        continue;
      }
    }
    Assignment assignment = chosen;
    for (const auto& [name, value] : set) {
      assignment[name] = value;
    }
    return assignment;
  }
  return chosen;
}

OrError<PlanScope> plan_scope(const Spec& spec, const LaunchPlan& plan, const Case& of, const Assignment& assignment,
                              const DeviceFacts& facts) {
  PlanScope result;
  result.scope = scope_of(spec, of);
  add_device(facts, result.scope);
  const OrError<Assignment> selected = assignment_for(plan, result.scope, assignment);  // twice changes nothing
  if (!selected) {
    return std::unexpected(selected.error());
  }
  if (auto error = add_tuned(plan, *selected, result)) {
    return std::unexpected(std::move(*error));
  }
  if (auto error = add_defined(plan, result)) {
    return std::unexpected(std::move(*error));
  }
  for (const auto& [name, value] : *selected) {
    result.macros.emplace_back(name, value);
  }
  return result;
}

OrErrors<BuildRequest> build_request(const Spec& spec, const Candidate& candidate, const Case& of,
                                     const Assignment& assignment, const DeviceFacts& facts) {
  const OrError<PlanScope> scope = plan_scope(spec, candidate.plan, of, assignment, facts);
  if (!scope) {
    return std::unexpected(Errors{scope.error()});
  }
  BuildRequest request;
  request.source = candidate.source;
  request.prelude = prelude_for(spec, of);
  request.arch = facts.arch.empty() ? spec.arch : facts.arch;
  for (const auto& [name, value] : scope->macros) {
    const std::string text = std::to_string(value);
    request.defines.push_back(name + "=" + (value < 0 ? "(" + text + ")" : text));
  }
  request.flags = spec.limits.nvrtc_flags;
  return request;
}

}  // namespace kf
