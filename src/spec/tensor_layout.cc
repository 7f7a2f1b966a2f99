// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <numeric>

#include "case_builder.h"

namespace kf {
namespace {

constexpr std::int64_t kMaxSpanBytes = std::int64_t{1} << 48;  // far above any device, far below overflow

std::string numbers(const std::vector<std::int64_t>& values) {
  std::string text = "[";
  for (const std::int64_t value : values) {
    text += (text.size() > 1 ? ", " : "") + std::to_string(value);
  }
  return text + "]";
}

std::optional<Error> evaluate_all(const std::vector<Expression>& expressions, const Scope& scope, std::string_view what,
                                  const std::string& tensor, std::vector<std::int64_t>& into) {
  for (const Expression& expression : expressions) {
    const OrError<std::int64_t> value = expression.evaluate(scope);
    if (!value) {
      return value.error();
    }
    if (*value < 0) {
      return Error{"",
                   "the " + std::string(what) + " \"" + expression.text() + "\" of \"" + tensor + "\" is " +
                       std::to_string(*value) + "; it must not be negative",
                   ""};
    }
    into.push_back(*value);
  }
  return std::nullopt;
}

// Each element has its own address when, from the smallest stride up, each stride steps over all of the dims before.
std::optional<Error> check_nesting(const Tensor& tensor) {
  std::vector<std::size_t> order(tensor.extent.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::ranges::stable_sort(order, {}, [&](std::size_t dim) { return tensor.stride[dim]; });
  std::int64_t span = 1;
  for (const std::size_t dim : order) {
    if (tensor.extent[dim] <= 1) {
      continue;
    }
    if (tensor.stride[dim] < span) {
      return Error{"",
                   "the strides " + numbers(tensor.stride) + " of \"" + tensor.name + "\" with extents " +
                       numbers(tensor.extent) + " make elements overlap: stride " + std::to_string(tensor.stride[dim]) +
                       " of dim " + std::to_string(dim) + " must be at least " + std::to_string(span),
                   ""};
    }
    span += (tensor.extent[dim] - 1) * tensor.stride[dim];
  }
  return std::nullopt;
}

std::optional<Error> check_size(const Tensor& tensor) {
  std::int64_t elements = size_in_bytes(tensor.dtype);
  std::int64_t span = size_in_bytes(tensor.dtype);
  for (std::size_t dim = 0; dim < tensor.extent.size(); ++dim) {
    const std::int64_t steps = std::max<std::int64_t>(tensor.extent[dim], 1) - 1;
    std::int64_t bytes = 0;
    const bool overflow = __builtin_mul_overflow(elements, tensor.extent[dim], &elements) ||
                          __builtin_mul_overflow(steps, tensor.stride[dim], &bytes) ||
                          __builtin_mul_overflow(bytes, size_in_bytes(tensor.dtype), &bytes) ||
                          __builtin_add_overflow(span, bytes, &span);
    if (overflow || elements > kMaxSpanBytes || span > kMaxSpanBytes) {
      return Error{"",
                   "\"" + tensor.name + "\" with extents " + numbers(tensor.extent) + " and strides " +
                       numbers(tensor.stride) + " spans more than 2^48 bytes",
                   ""};
    }
  }
  return std::nullopt;
}

}  // namespace

std::vector<std::int64_t> dense_strides(const std::vector<std::int64_t>& extent) {
  std::vector<std::int64_t> stride(extent.size(), 1);
  for (std::size_t dim = extent.size(); dim-- > 1;) {
    // Saturates: check_size refuses what gets near. Empty dims count as one, so that strides stay usable.
    if (__builtin_mul_overflow(stride[dim], std::max<std::int64_t>(extent[dim], 1), &stride[dim - 1])) {
      stride[dim - 1] = std::numeric_limits<std::int64_t>::max();
    }
  }
  return stride;
}

OrError<Tensor> lay_out(const TensorSpec& spec, Dtype dtype, const Scope& scope) {
  Tensor tensor;
  tensor.name = spec.name;
  tensor.role = spec.role;
  tensor.dtype = dtype;
  tensor.align = spec.align;
  for (const Expression& size : spec.shape) {
    tensor.dims.push_back(size.text());
  }
  if (auto error = evaluate_all(spec.shape, scope, "extent", spec.name, tensor.extent)) {
    return std::unexpected(std::move(*error));
  }
  if (spec.strides.empty()) {
    tensor.stride = dense_strides(tensor.extent);
  } else if (auto error = evaluate_all(spec.strides, scope, "stride", spec.name, tensor.stride)) {
    return std::unexpected(std::move(*error));
  }
  if (tensor.align % size_in_bytes(dtype) != 0) {
    return std::unexpected(Error{"",
                                 "\"align\": " + std::to_string(tensor.align) + " of \"" + tensor.name +
                                     "\" is no multiple of the " + std::to_string(size_in_bytes(dtype)) + " bytes of " +
                                     std::string(to_string(dtype)),
                                 ""});
  }
  if (auto error = check_size(tensor)) {
    return std::unexpected(std::move(*error));
  }
  if (auto error = check_nesting(tensor)) {
    return std::unexpected(std::move(*error));
  }
  return tensor;
}

}  // namespace kf
