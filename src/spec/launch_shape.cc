// SPDX-License-Identifier: Apache-2.0
#include <algorithm>

#include "format/nearest.h"
#include "resolution.h"

namespace kf {
namespace {

constexpr std::int64_t kLargestDim = (std::int64_t{1} << 31) - 1;

std::optional<Extent3> dims_of(Resolution& to, const std::vector<Expression>& expressions, const Scope& in,
                               const std::string& path) {
  Extent3 dims{1, 1, 1};
  for (std::size_t i = 0; i < expressions.size(); ++i) {
    const std::optional<std::int64_t> value = to.evaluate(expressions[i], in);
    if (!value) {
      return std::nullopt;
    }
    if (*value < 0 || *value > kLargestDim) {
      to.fail(path + "[" + std::to_string(i) + "]", "\"" + expressions[i].text() + "\" is " + std::to_string(*value) +
                                                        ", allowed: 0 to " + std::to_string(kLargestDim));
      return std::nullopt;
    }
    dims[i] = *value;
  }
  return dims;
}

std::int64_t product(const Extent3& dims) {
  std::int64_t result = 1;
  for (const std::int64_t dim : dims) {
    if (__builtin_mul_overflow(result, dim, &result)) {
      return std::numeric_limits<std::int64_t>::max();
    }
  }
  return result;
}

// Clusters of `size` that are resident with one block an SM. A cluster of a size that was not asked for is at most as
// rare as one of the next larger size that was.
std::int64_t cluster_slots(std::int64_t size, const DeviceFacts& facts) {
  const auto slots = facts.cluster_slots.lower_bound(static_cast<int>(size));
  return slots != facts.cluster_slots.end() ? slots->second : facts.sm_count / size;
}

}  // namespace

std::int64_t LaunchShape::blocks() const {
  return product(grid);
}
std::int64_t LaunchShape::threads() const {
  return product(block);
}
std::int64_t LaunchShape::cluster_size() const {
  return product(cluster);
}

const KernelUse* find_use(const Build& build, std::string_view entry) {
  const auto found = std::ranges::find(build.kernels, entry, &KernelUse::entry);
  return found == build.kernels.end() ? nullptr : &*found;
}

std::optional<LaunchShape> shape_of(Resolution& to, std::size_t index, const Scope& in) {
  const KernelSpec& kernel = to.plan.kernels[index];
  const std::string path = kernel_path(index);
  LaunchShape shape;
  Scope plain = in;
  plain.resident = nullptr;  // residency follows from these three
  const auto block = dims_of(to, kernel.block, plain, path + ".block");
  const auto cluster = dims_of(to, kernel.cluster, plain, path + ".cluster");
  const auto shared = to.evaluate(kernel.shared, plain);
  const auto grid = dims_of(to, kernel.grid, in, path + ".grid");
  if (!grid || !block || !cluster || !shared) {
    return std::nullopt;
  }
  shape.grid = *grid;
  shape.block = *block;
  shape.cluster = *cluster;
  shape.shared = *shared;
  return shape;
}

std::int64_t resident_blocks(const LaunchShape& shape, const KernelUse& use, const DeviceFacts& facts) {
  const std::int64_t threads = std::min<std::int64_t>(shape.threads(), facts.max_threads_per_block + 1);
  const std::int64_t per_sm = resident_blocks_per_sm(use, static_cast<int>(threads), shape.shared, facts);
  const std::int64_t size = shape.cluster_size();
  if (size <= 1) {
    return per_sm * facts.sm_count;
  }
  // With several blocks an SM at least that many times the clusters fit, because each layer of blocks holds them anew.
  return size > facts.max_cluster ? 0 : cluster_slots(size, facts) * per_sm * size;
}

OrError<std::int64_t> resident_blocks(const Resolution& to, const KernelSpec& kernel) {
  const KernelUse* use = find_use(to.build, kernel.entry);
  if (use == nullptr) {
    return std::unexpected(
        Error{"", "resident(" + kernel.id + "): the build has no entry \"" + kernel.entry + "\"", ""});
  }
  Resolution probe{to.spec, to.plan, to.of, to.facts, to.build, to.scope, false, {}, {}, {}};
  probe.scope.resident = nullptr;
  LaunchShape shape;
  const auto block = dims_of(probe, kernel.block, probe.scope, "block");
  const auto cluster = dims_of(probe, kernel.cluster, probe.scope, "cluster");
  const auto shared = probe.evaluate(kernel.shared, probe.scope);
  if (!block || !cluster || !shared) {
    return std::unexpected(probe.errors.front());
  }
  shape.block = *block;
  shape.cluster = *cluster;
  shape.shared = *shared;
  return resident_blocks(shape, *use, to.facts);
}

}  // namespace kf
