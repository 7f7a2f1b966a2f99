// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cstdint>
#include <span>

#include <kfactory/case.h>
#include <kfactory/values.h>

namespace kf {

// The elements of a tensor in row-major order without what lies between them; `span` starts at its first element.
Bytes dense_elements(std::span<const std::byte> span, const Tensor& tensor);
// The other way round: puts dense elements at their places and leaves the rest of `span` as it is.
void place_elements(std::span<const std::byte> dense, const Tensor& tensor, std::span<std::byte> span);

// Bits of `value` in `dtype`, rounded to nearest even; integers rounded and clamped. Little-endian, size_in_bytes wide.
std::uint64_t encode_element(double value, Dtype dtype);

}  // namespace kf
