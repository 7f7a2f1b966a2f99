// SPDX-License-Identifier: Apache-2.0
#include <kfactory/plan.h>

#include <algorithm>

#include "plan_scope.h"
#include "resolution.h"

namespace kf {
namespace {

constexpr std::int64_t kMaxLaunches = 4096;
constexpr int kPortableCluster = 8;
constexpr std::size_t kMaxErrors = 32;  // a repeated kernel would otherwise say the same a thousand times

bool is_result(const Tensor& tensor) {
  return tensor.role != TensorRole::kInput;
}

void resolve_workspaces(Resolution& to) {
  const std::optional<std::int64_t> limit = to.evaluate(to.spec.limits.workspace_bytes, to.scope);
  std::int64_t total = 0;
  for (const WorkspaceSpec& spec : to.plan.workspaces) {
    const std::optional<std::int64_t> bytes = to.evaluate(spec.bytes, to.scope);
    const std::string path = "$.workspaces." + spec.name + ".bytes";
    if (bytes && *bytes < 0) {
      to.fail(path, "\"" + spec.bytes.text() + "\" is " + std::to_string(*bytes) + "; it must not be negative");
    } else if (bytes && limit && (__builtin_add_overflow(total, *bytes, &total) || total > *limit)) {
      to.fail(path, "the workspaces need more than the " + std::to_string(*limit) + " bytes that the spec allows (" +
                        std::to_string(*bytes) + " for \"" + spec.name + "\")");
    }
    to.result.workspaces.push_back({spec.name, bytes.value_or(0), spec.init});
  }
}

std::array<std::uint32_t, 3> narrowed(const Extent3& dims) {
  return {static_cast<std::uint32_t>(dims[0]), static_cast<std::uint32_t>(dims[1]),
          static_cast<std::uint32_t>(dims[2])};
}

Launch launch_of(const KernelSpec& kernel, const LaunchShape& shape) {
  Launch launch;
  launch.entry = kernel.entry;
  launch.grid = narrowed(shape.grid);
  launch.block = narrowed(shape.block);
  launch.cluster = narrowed(shape.cluster);
  launch.shared_bytes = static_cast<std::uint32_t>(shape.shared);
  launch.flags.cooperative = kernel.cooperative;
  launch.flags.pdl = kernel.pdl;
  launch.flags.non_portable_cluster = shape.cluster_size() > kPortableCluster;
  launch.flags.cluster_policy = kernel.cluster_policy;
  launch.flags.carveout = kernel.carveout;
  return launch;
}

// One instance of a kernel: skipped, launched, or refused (false).
bool resolve_instance(Resolution& to, std::size_t index, std::int64_t instance, const Scope& in, LaunchGraph& graph) {
  const KernelSpec& kernel = to.plan.kernels[index];
  std::optional<std::vector<int>> waits = graph.waits(to, index, in);
  const std::optional<std::int64_t> when = kernel.when ? to.evaluate(*kernel.when, in) : 1;
  if (!waits || !when) {
    return false;
  }
  if (*when == 0) {
    graph.record(kernel.id, instance, std::move(*waits));
    return true;
  }
  const std::optional<LaunchShape> shape = shape_of(to, index, in);
  if (!shape) {
    return false;
  }
  if (to.nothing_to_do && shape->blocks() == 0) {
    graph.record(kernel.id, instance, std::move(*waits));
    return true;
  }
  const bool fits = check_limits(to, index, *shape);
  std::optional<std::vector<Arg>> args = resolve_args(to, index, in);
  if (!fits || !args) {
    return false;
  }
  Launch launch = launch_of(kernel, *shape);
  launch.id = kernel.repeat ? kernel.id + "[" + std::to_string(instance) + "]" : kernel.id;
  launch.args = std::move(*args);
  launch.after = std::move(*waits);
  graph.record(kernel.id, instance, {static_cast<int>(to.result.launches.size())});
  to.result.launches.push_back(std::move(launch));
  return true;
}

void resolve_kernel(Resolution& to, std::size_t index, LaunchGraph& graph) {
  const KernelSpec& kernel = to.plan.kernels[index];
  if (!kernel.repeat) {
    resolve_instance(to, index, 0, to.scope, graph);
    return;
  }
  const auto& [variable, expression] = *kernel.repeat;
  const std::string path = kernel_path(index) + ".repeat";
  if (to.scope.values.contains(variable)) {
    to.fail(path, "the name \"" + variable + "\" is an axis, a tune value or a fact of the device", "rename it");
    return;
  }
  const std::optional<std::int64_t> count = to.evaluate(expression, to.scope);
  if (!count) {
    return;
  }
  const auto launched = static_cast<std::int64_t>(to.result.launches.size());
  if (*count < 0 || *count > kMaxLaunches - launched) {
    to.fail(path, "\"" + expression.text() + "\" is " + std::to_string(*count) + ", allowed: 0 to " +
                      std::to_string(kMaxLaunches - launched) + " (a plan has at most " + std::to_string(kMaxLaunches) +
                      " launches)");
    return;
  }
  Scope in = to.scope;
  for (std::int64_t i = 0; i < *count; ++i) {
    in.values[variable] = i;
    if (!resolve_instance(to, index, i, in, graph)) {
      return;
    }
  }
}

void check_results(Resolution& to) {
  if (to.nothing_to_do) {
    return;
  }
  if (to.result.launches.empty()) {
    to.fail("$.kernels", "no kernel is launched in the case " + to.of.id.value + ", but its outputs are not empty",
            "check each \"when\"");
    return;
  }
  for (const Tensor& tensor : to.of.tensors) {
    if (is_result(tensor) && tensor.elements() > 0 && !to.bound.contains(tensor.name)) {
      to.fail("$.kernels",
              "no kernel that is launched gets the output \"" + tensor.name + "\" in the case " + to.of.id.value,
              "add it to \"args\" of the kernel that writes it");
    }
  }
}

}  // namespace

void Resolution::fail(std::string where, std::string what, std::string hint) {
  errors.push_back({std::move(where), std::move(what), std::move(hint)});
}

std::optional<std::int64_t> Resolution::evaluate(const Expression& expression, const Scope& in) {
  const OrError<std::int64_t> value = expression.evaluate(in);
  if (!value) {
    errors.push_back(value.error());
    return std::nullopt;
  }
  return *value;
}

std::string kernel_path(std::size_t index) {
  return "$.kernels[" + std::to_string(index) + "]";
}

OrErrors<ResolvedPlan> resolve_plan(const Spec& spec, const LaunchPlan& plan, const Case& of,
                                    const Assignment& assignment, const DeviceFacts& facts, const Build& build) {
  OrError<PlanScope> scope = plan_scope(spec, plan, of, assignment, facts);
  if (!scope) {
    return std::unexpected(Errors{scope.error()});
  }
  Resolution to{spec, plan, of, facts, build, std::move(scope->scope), false, {}, {}, {}};
  to.nothing_to_do = std::ranges::all_of(
      of.tensors, [](const Tensor& tensor) { return !is_result(tensor) || tensor.elements() == 0; });
  to.result.of = of.id;
  to.result.build = build.id;
  to.scope.resident = [&to](std::string_view id) -> OrError<std::int64_t> {
    const auto kernel = std::ranges::find(to.plan.kernels, id, &KernelSpec::id);
    if (kernel == to.plan.kernels.end()) {
      return std::unexpected(Error{"", "unknown kernel \"" + std::string(id) + "\"", ""});
    }
    return resident_blocks(to, *kernel);
  };
  resolve_workspaces(to);
  LaunchGraph graph;
  for (std::size_t i = 0; i < plan.kernels.size() && to.errors.size() < kMaxErrors; ++i) {
    resolve_kernel(to, i, graph);
  }
  if (to.errors.empty()) {
    check_results(to);
  }
  if (!to.errors.empty()) {
    return std::unexpected(std::move(to.errors));
  }
  return std::move(to.result);
}

}  // namespace kf
