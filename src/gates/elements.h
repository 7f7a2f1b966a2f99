// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cstdint>
#include <span>
#include <vector>

#include <kfactory/case.h>
#include <kfactory/values.h>

namespace kf {

// The elements of a tensor in row-major order without what lies between them; `span` starts at its first element.
Bytes dense_elements(std::span<const std::byte> span, const Tensor& tensor);
// The other way round: puts dense elements at their places and leaves the rest of `span` as it is.
void place_elements(std::span<const std::byte> dense, const Tensor& tensor, std::span<std::byte> span);

// Bits of `value` in `dtype`, rounded to nearest even; integers rounded and clamped. Little-endian, size_in_bytes wide.
// A NaN stays one (zero for types without), Inf stays Inf (the largest value for types without).
std::uint64_t encode_element(double value, Dtype dtype);
// The other way round, exact but for int64 beyond 2^53.
double decode_element(std::uint64_t bits, Dtype dtype);
// The same for all elements of dense bytes.
std::vector<double> decode_elements(std::span<const std::byte> dense, Dtype dtype);
Bytes encode_elements(std::span<const double> values, Dtype dtype);

// Distance from |value| up to the next value of a floating type; 0 for integers.
double unit_in_last_place(double value, Dtype dtype);

}  // namespace kf
