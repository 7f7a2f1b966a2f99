// SPDX-License-Identifier: Apache-2.0
#include "gates/ranges.h"

#include <algorithm>
#include <cmath>
#include <set>

namespace kf {
namespace {

// The output's range over the points that were looked at.
struct Seen {
  bool any = false;
  double smallest = 0, largest = 0;
  std::set<std::string> below;
};

void widen(Seen& seen, const Case& of, const std::vector<double>& values) {
  for (const double value : values) {
    seen.smallest = std::min(seen.smallest, value);
    seen.largest = std::max(seen.largest, std::abs(value));
  }
  const double greatest = values.empty() ? 0.0 : *std::ranges::max_element(values);
  std::set<std::string> below;
  for (const Tensor& tensor : of.tensors) {
    for (std::size_t dim = 0; tensor.role != TensorRole::kOutput && dim < tensor.dims.size(); ++dim) {
      if (greatest < static_cast<double>(tensor.extent[dim]) && seen.smallest >= 0) {
        below.insert(tensor.dims[dim]);
      }
    }
  }
  if (seen.any) {
    std::erase_if(seen.below, [&](const std::string& dim) { return !below.contains(dim); });
  } else {
    seen.below = std::move(below);
  }
  seen.any = true;
}

}  // namespace

std::vector<OutputRange> output_ranges(Bench& bench, const Job& job, Reference& reference, std::int64_t most_bytes) {
  Map<Seen> seen;
  for (const CheckPoint& point : job.checks) {
    const Case& of = job.cases[static_cast<std::size_t>(point.case_index)];
    const auto counted = [](const Tensor& tensor) {
      return tensor.role != TensorRole::kInput && !is_floating(tensor.dtype) && tensor.elements() > 0;
    };
    if (std::ranges::none_of(of.tensors, counted) || bytes_of(of) > most_bytes) {
      continue;
    }
    const std::vector<Workspace> no_workspaces;
    const std::uint64_t seed = seed_at(point, 0);
    const Contents contents{point.family, seed, &job.families};
    CaseBuffers buffers(bench, of, no_workspaces, 0);
    buffers.renew(contents, derive_seed(seed, 1400));
    for (const Tensor& tensor : of.tensors) {
      if (counted(tensor)) {
        widen(seen[tensor.name], of,
              reference.values(point.case_index, buffers, contents, tensor.name, derive_seed(seed, 1401)));
      }
    }
  }
  std::vector<OutputRange> ranges;
  for (const auto& [name, found] : seen) {
    ranges.push_back({name, found.largest, {found.below.begin(), found.below.end()}});
  }
  return ranges;
}

}  // namespace kf
