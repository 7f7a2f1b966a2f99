// SPDX-License-Identifier: Apache-2.0
#include <kfactory/case.h>
#include <kfactory/dtype.h>
#include <kfactory/error.h>
#include <kfactory/lesson.h>

#include <algorithm>
#include <array>
#include <bit>

namespace kf {
namespace {

struct DtypeRow {
  Dtype dtype;
  std::string_view name;
  int bytes, mantissa;
  bool floating;
};
constexpr std::array<DtypeRow, kDtypeCount> kDtypes{{
    {Dtype::kFloat64, "float64", 8, 52, true},
    {Dtype::kFloat32, "float32", 4, 23, true},
    {Dtype::kBfloat16, "bfloat16", 2, 7, true},
    {Dtype::kFloat16, "float16", 2, 10, true},
    {Dtype::kFloat8E4m3fn, "float8_e4m3fn", 1, 3, true},
    {Dtype::kFloat8E5m2, "float8_e5m2", 1, 2, true},
    {Dtype::kFloat8E8m0, "float8_e8m0", 1, 0, true},
    {Dtype::kInt64, "int64", 8, 0, false},
    {Dtype::kInt32, "int32", 4, 0, false},
    {Dtype::kInt16, "int16", 2, 0, false},
    {Dtype::kInt8, "int8", 1, 0, false},
    {Dtype::kUint8, "uint8", 1, 0, false},
    {Dtype::kBool, "bool", 1, 0, false},
}};
const DtypeRow& row_of(Dtype dtype) {
  return kDtypes[static_cast<std::size_t>(dtype)];
}

}  // namespace

std::string to_string(const Error& error) {
  std::string text = error.where.empty() ? error.what : error.where + ": " + error.what;
  return error.hint.empty() ? text : text + " (" + error.hint + ")";
}

std::string to_string(const Errors& errors) {
  std::string text;
  for (const Error& error : errors) {
    text += (text.empty() ? "" : "\n") + to_string(error);
  }
  return text;
}

std::string_view to_string(Dtype dtype) {
  return row_of(dtype).name;
}
int size_in_bytes(Dtype dtype) {
  return row_of(dtype).bytes;
}
bool is_floating(Dtype dtype) {
  return row_of(dtype).floating;
}
int mantissa_bits(Dtype dtype) {
  return row_of(dtype).mantissa;
}

std::optional<Dtype> dtype_from_string(std::string_view name) {
  const auto* row = std::ranges::find(kDtypes, name, &DtypeRow::name);
  return row == kDtypes.end() ? std::nullopt : std::optional(row->dtype);
}

std::int64_t Tensor::elements() const {
  std::int64_t count = 1;
  for (const std::int64_t size : extent) {
    count *= size;
  }
  return count;
}

std::int64_t Tensor::span_bytes() const {
  std::int64_t last = 0;
  for (std::size_t dim = 0; dim < extent.size(); ++dim) {
    if (extent[dim] == 0) {
      return 0;
    }
    last += (extent[dim] - 1) * stride[dim];
  }
  return (last + 1) * size_in_bytes(dtype);
}

std::int64_t Tensor::shift_step() const {
  const bool power = align > 0 && std::has_single_bit(static_cast<std::uint64_t>(align));
  return power ? std::min(std::max<std::int64_t>(align, size_in_bytes(dtype)), kAllocationAlign) : kAllocationAlign;
}

std::int64_t bytes_of(const Case& of) {
  std::int64_t bytes = 0;
  for (const Tensor& tensor : of.tensors) {
    bytes += tensor.span_bytes();
  }
  return bytes;
}

std::string_view Lesson::evidence() const {
  bool measured = false, estimated = false;
  for (const auto* effects : {&supporting, &contradicting}) {
    for (const Effect& effect : *effects) {
      (effect.estimate ? estimated : measured) = true;
    }
  }
  if (measured) {
    return estimated ? "measured and estimated" : "measured";
  }
  return estimated ? "estimated" : "conjecture";
}

double Lesson::confidence() const {
  if (conjecture()) {
    return 0.0;
  }
  const auto for_it = static_cast<double>(supporting.size());
  const auto against = static_cast<double>(contradicting.size());
  return (for_it + 1.0) / (for_it + against + 2.0);
}

}  // namespace kf
