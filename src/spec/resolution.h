// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <array>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include <kfactory/plan.h>

namespace kf {

using Extent3 = std::array<std::int64_t, 3>;

// The shape of one launch, as numbers.
struct LaunchShape {
  Extent3 grid{1, 1, 1}, block{1, 1, 1}, cluster{1, 1, 1};
  std::int64_t shared = 0;

  std::int64_t blocks() const;
  std::int64_t threads() const;
  std::int64_t cluster_size() const;
};

// The work in progress of resolve_plan: what is given, the scope of the case, and what has come out so far.
// One file a step: resolve.cc, launch_shape.cc, launch_limits.cc, resolve_args.cc, resolve_maps.cc, launch_graph.cc.
struct Resolution {
  const Spec& spec;
  const LaunchPlan& plan;
  const Case& of;
  const DeviceFacts& facts;
  const Build& build;
  Scope scope;
  bool nothing_to_do = false;  // every output is empty
  ResolvedPlan result;
  std::set<std::string, std::less<>> bound;  // tensors that some launch gets
  Errors errors;

  void fail(std::string where, std::string what, std::string hint = "");
  // nullopt after an error, which is recorded.
  std::optional<std::int64_t> evaluate(const Expression& expression, const Scope& in);
};

// "$.kernels[2]".
std::string kernel_path(std::size_t index);
const KernelUse* find_use(const Build& build, std::string_view entry);

// launch_shape.cc. Products never overflow: each factor is at most 2^31.
std::optional<LaunchShape> shape_of(Resolution& to, std::size_t kernel, const Scope& in);
// Blocks of that kernel that the device holds at once: occupancy times SMs, or resident clusters times their size.
OrError<std::int64_t> resident_blocks(const Resolution& to, const KernelSpec& kernel);
std::int64_t resident_blocks(const LaunchShape& shape, const KernelUse& use, const DeviceFacts& facts);

// launch_limits.cc. True: within every limit.
bool check_limits(Resolution& to, std::size_t kernel, const LaunchShape& shape);

// resolve_args.cc
std::optional<std::vector<Arg>> resolve_args(Resolution& to, std::size_t kernel, const Scope& in);

// resolve_maps.cc: index in ResolvedPlan::maps; resolved at first use.
std::optional<int> resolve_map(Resolution& to, const TensorMapSpec& map);

// launch_graph.cc
class LaunchGraph {
 public:
  // Waits of the next launch or skipped instance; nullopt after an error, which is recorded.
  std::optional<std::vector<int>> waits(Resolution& to, std::size_t kernel, const Scope& in);
  // What a wait for instance `index` of `kernel` means from now on: the launch itself, or what a skipped one waited
  // for.
  void record(const std::string& kernel, std::int64_t index, std::vector<int> stands_for);

 private:
  Map<std::vector<std::vector<int>>> instances_;  // by kernel id, then by repeat index
  std::vector<int> last_;                         // stands for the instance before
};

}  // namespace kf
