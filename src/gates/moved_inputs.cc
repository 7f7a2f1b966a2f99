// SPDX-License-Identifier: Apache-2.0
#include "gates/moved_inputs.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "gates/elements.h"

namespace kf {
namespace {

const ReferenceVariant* wide_variant(const Job& job) {
  const auto found = std::ranges::find(job.variants, ReferenceVariant::Kind::kWideInputs, &ReferenceVariant::kind);
  return found == job.variants.end() ? nullptr : &*found;
}

double moved(double value, bool up) {
  if (value == 0.0 || !std::isfinite(value)) {
    return value;
  }
  const float infinity = std::numeric_limits<float>::infinity();
  const float next = std::nextafter(static_cast<float>(value), up ? infinity : -infinity);
  return std::isfinite(next) ? static_cast<double>(next) : value;
}

}  // namespace

double allowed_error(const Bound& bound, Dtype dtype, double reference, double condition) {
  const double size = !bound.condition.empty() && std::isfinite(condition) ? condition : reference;
  return bound.ulp * unit_in_last_place(reference, dtype) + bound.acc * 0x1p-24 * std::abs(size);
}

std::string MovedInputs::why_not(const Job& job, std::int32_t index) {
  const ReferenceVariant* wide = wide_variant(job);
  if (wide == nullptr || !wide->unavailable.empty()) {
    return wide == nullptr ? "there is no reference for float32 inputs" : wide->unavailable;
  }
  const auto at = static_cast<std::size_t>(index);
  for (const Tensor& tensor : job.cases[at].tensors) {
    if (tensor.role == TensorRole::kInout) {
      return tensor.name + " is read and written";
    }
  }
  return wide->cases[at].tensors.empty() ? "it is large, and the reference is not cut into slices" : "";
}

Window MovedInputs::reach_of(const Job& job, std::int32_t index) {
  const auto at = static_cast<std::size_t>(index);
  const Case& whole = job.cases[at];
  const std::string& axis = job.reference.plans[at].axis;
  if (axis.empty()) {
    return {};
  }
  const std::int64_t extent = wide_variant(job)->cases[at].axes.at(axis);
  return extent == whole.axes.at(axis) ? Window{} : Window{axis, 0, extent};
}

MovedInputs::MovedInputs(Bench& bench, const Job& job, std::int32_t index, const CaseBuffers& launch,
                         const Contents& contents, std::uint64_t seed, Window window)
    : bench_(bench),
      launch_(launch),
      index_(index),
      contents_(contents),
      seed_(seed),
      window_(std::move(window)),
      wide_(wide_variant(job)->cases[static_cast<std::size_t>(index)]),
      buffers_(bench, wide_, no_workspaces_, 0),
      reference_(bench, job, wide_variant(job)->arm) {}

void MovedInputs::move(std::size_t input, std::uint64_t seed, bool mirrored) {
  const Dtype dtype = launch_.of().tensors[input].dtype;
  const Tensor& to = wide_.tensors[input];
  std::vector<double> values = decode_elements(read_elements(bench_, launch_, input, window_), dtype);
  if (is_floating(dtype)) {
    for (std::size_t i = 0; i < values.size(); ++i) {
      values[i] = moved(values[i], (derive_seed(seed, i) & 1) != (mirrored ? 1U : 0U));
    }
  }
  Bytes span(static_cast<std::size_t>(to.span_bytes()));
  place_elements(encode_elements(values, to.dtype), to, span);
  bench_.must(bench_.device().write(buffers_.tensors()[input], 0, span), "writing moved inputs");
}

std::array<std::vector<double>, 2> MovedInputs::both_ways(const std::string& output, std::uint64_t draw) {
  const std::uint64_t seed = draw == 0 ? seed_ : derive_seed(seed_, 1000 + draw);
  std::array<std::vector<double>, 2> values;
  for (const bool mirrored : {false, true}) {
    for (std::size_t i = 0; i < wide_.tensors.size(); ++i) {
      if (wide_.tensors[i].role == TensorRole::kInput && wide_.tensors[i].elements() > 0) {
        move(i, seed, mirrored);
      }
    }
    values[mirrored ? 1 : 0] =
        reference_.values(index_, buffers_, contents_, output, derive_seed(seed_, mirrored ? 2 : 1));
  }
  return values;
}

std::vector<double> MovedInputs::farthest(const std::string& output, const std::vector<double>& wanted) {
  std::vector<double> farthest = wanted;
  for (const std::vector<double>& values : both_ways(output, 0)) {
    for (std::size_t i = 0; i < wanted.size(); ++i) {
      if (!(std::abs(values[i] - wanted[i]) <= std::abs(farthest[i] - wanted[i]))) {
        farthest[i] = values[i];
      }
    }
  }
  return farthest;
}

void MovedInputs::reach(const std::string& output, std::uint64_t draw, std::vector<Reach>& reached) {
  for (const std::vector<double>& values : both_ways(output, draw)) {
    for (std::size_t i = 0; i < reached.size(); ++i) {
      reached[i].low = values[i] < reached[i].low ? values[i] : reached[i].low;
      reached[i].high = values[i] > reached[i].high ? values[i] : reached[i].high;
    }
  }
}

}  // namespace kf
