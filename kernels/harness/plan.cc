// SPDX-License-Identifier: Apache-2.0
// From the vocabulary's tensors and requests to the flat values that host loops and kernels work on.
#include <algorithm>
#include <numeric>

#include "kernels/harness/host.h"

namespace kf::harness {
namespace {

Error error_of(const Tensor& tensor, std::string what, std::string hint) {
  return {tensor.name, std::move(what), std::move(hint)};
}

}  // namespace

OrError<Layout> layout_of(const Tensor& tensor) {
  const std::size_t rank = tensor.extent.size();
  if (rank > kMaxRank || tensor.stride.size() != rank) {
    return std::unexpected(error_of(tensor,
                                    "has " + std::to_string(rank) + " extents and " +
                                        std::to_string(tensor.stride.size()) +
                                        " strides; at most 6 dims, one stride each",
                                    "merge dims that are contiguous"));
  }
  Layout layout{};
  const std::size_t pad = kMaxRank - rank;
  std::fill_n(layout.shape, kMaxRank, 1);
  std::copy(tensor.extent.begin(), tensor.extent.end(), layout.shape + pad);
  std::copy(tensor.stride.begin(), tensor.stride.end(), layout.stride + pad);
  layout.rank = static_cast<int>(rank);
  layout.type = static_cast<int>(tensor.dtype);
  layout.bytes = size_in_bytes(tensor.dtype);
  layout.elements = tensor.elements();
  layout.columns = std::max<i64>(1, layout.shape[kMaxRank - 1]);
  std::iota(layout.order, layout.order + kMaxRank, 0);
  std::sort(layout.order, layout.order + kMaxRank,
            [&](int a, int b) { return std::pair(-layout.stride[a], a) < std::pair(-layout.stride[b], b); });
  i64 reach = 0;      // offset of the last element so far, smallest stride first
  i64 row_major = 1;  // stride that the dim would have without gaps
  layout.dense = 1;
  for (int dim = kMaxRank - 1; dim >= 0; --dim) {
    layout.dense &= layout.shape[dim] <= 1 || layout.stride[dim] == row_major;
    row_major *= layout.shape[dim];
  }
  for (int i = kMaxRank - 1; i >= 0 && layout.elements > 0; --i) {
    const int dim = layout.order[i];
    if (layout.shape[dim] == 1) {
      continue;
    }
    if (layout.stride[dim] <= reach) {
      return std::unexpected(error_of(tensor,
                                      "stride " + std::to_string(layout.stride[dim]) + " of dim " +
                                          std::to_string(static_cast<std::size_t>(dim) - pad) +
                                          " is not larger than what the smaller strides reach (" +
                                          std::to_string(reach) + ")",
                                      "strides are positive and elements do not overlap or interleave"));
    }
    reach += (layout.shape[dim] - 1) * layout.stride[dim];
  }
  return layout;
}

namespace {

// Which padded dims a region spans.
OrError<void> plan_regions(const Tensor& tensor, const Bound& bound, ComparePlan& plan) {
  Regions& regions = plan.regions;
  const std::size_t pad = kMaxRank - tensor.extent.size();
  const bool whole = bound.region.empty();
  for (int dim = 0; dim < kMaxRank; ++dim) {
    regions.outer[dim] = whole ? 1 : plan.of.shape[dim];
    regions.inner[dim] = whole ? plan.of.shape[dim] : 1;
  }
  for (const std::string& name : bound.region) {
    const auto found = std::find(tensor.dims.begin(), tensor.dims.end(), name);
    if (found == tensor.dims.end()) {
      return std::unexpected(error_of(tensor, "has no dim called \"" + name + "\", which tolerance.region names",
                                      "name dims as the tensor's shape writes them"));
    }
    const std::size_t dim = pad + static_cast<std::size_t>(found - tensor.dims.begin());
    regions.inner[dim] = plan.of.shape[dim];
    regions.outer[dim] = 1;
  }
  const auto product = [](const i64* shape) {
    return std::accumulate(shape, shape + kMaxRank, i64{1}, std::multiplies<>());
  };
  regions.regions = product(regions.outer);
  regions.size = product(regions.inner);
  regions.chunks = (regions.size + kChunk - 1) / kChunk;
  return {};
}

}  // namespace

OrError<ComparePlan> plan_comparison(const CompareRequest& request, const Placement& out) {
  const Tensor& tensor = *request.tensor;
  const auto layout = layout_of(tensor);
  if (!layout) {
    return std::unexpected(layout.error());
  }
  ComparePlan plan;
  Comparison& of = plan.of;
  of.layout = *layout;
  std::copy_n(layout->shape, kMaxRank, of.shape);
  plan.rank = layout->rank;
  if (request.slice_dim >= 0) {
    if (request.slice_dim >= layout->rank || request.slice_first < 0 || request.slice_extent < 0 ||
        request.slice_first + request.slice_extent > tensor.extent[static_cast<std::size_t>(request.slice_dim)]) {
      return std::unexpected(error_of(tensor,
                                      "a slice of " + std::to_string(request.slice_extent) + " from " +
                                          std::to_string(request.slice_first) + " in dim " +
                                          std::to_string(request.slice_dim) + " lies outside it",
                                      ""));
    }
    const int dim = kMaxRank - layout->rank + request.slice_dim;
    of.shape[dim] = request.slice_extent;
    of.first[dim] = request.slice_first;
  }
  of.elements = std::accumulate(of.shape, of.shape + kMaxRank, i64{1}, std::multiplies<>());
  of.columns = std::max<i64>(1, of.shape[kMaxRank - 1]);
  of.base_offset = out.front;
  of.ulp = request.bound.ulp;
  of.acc = request.bound.acc;
  of.threshold = is_integer(layout->type) ? double_of(kInfinity) : overflow_threshold(layout->type);
  of.poison_seed = request.poison_seed;
  of.has_condition = request.has_condition;
  of.skip_nonfinite = request.nonfinite_unspecified;
  of.only_unwritten = request.only_unwritten;
  plan.rms = request.bound.rms;
  if (request.bound.rms > 0.0 && of.elements > 0 && !is_integer(layout->type)) {
    if (const auto regions = plan_regions(tensor, request.bound, plan); !regions) {
      return std::unexpected(regions.error());
    }
  }
  return plan;
}

}  // namespace kf::harness
