// SPDX-License-Identifier: Apache-2.0
#include "gates/elements.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>
#include <limits>

namespace kf {
namespace {

// Calls visit(offset in bytes) for each element, row-major.
template <class Visit>
void for_each_element(const Tensor& tensor, const Visit& visit) {
  const std::size_t rank = tensor.extent.size();
  const std::int64_t size = size_in_bytes(tensor.dtype);
  const std::int64_t elements = tensor.elements();
  std::vector<std::int64_t> index(rank, 0);
  std::int64_t offset = 0;
  for (std::int64_t n = 0; n < elements; ++n) {
    visit(offset * size);
    for (std::size_t dim = rank; dim-- > 0;) {
      offset += tensor.stride[dim];
      if (++index[dim] < tensor.extent[dim]) {
        break;
      }
      offset -= index[dim] * tensor.stride[dim];
      index[dim] = 0;
    }
  }
}

struct FloatFormat {
  int exponent_bits, mantissa_bits;
  bool has_infinity;
};

// Rounds a finite magnitude to a format with subnormals. Scaling by powers of two is exact here, so only the one
// rounding of nearbyint remains.
std::uint64_t encode_float(double value, FloatFormat format) {
  const int bias = (1 << (format.exponent_bits - 1)) - 1;
  const std::uint64_t sign =
      std::signbit(value) ? std::uint64_t{1} << (format.exponent_bits + format.mantissa_bits) : 0;
  const double magnitude = std::abs(value);
  const int exponent = magnitude == 0 ? 1 - bias : std::max(std::ilogb(magnitude), 1 - bias);
  const double steps = std::nearbyint(std::ldexp(magnitude, format.mantissa_bits - exponent));
  // steps counts units in the last place from the bottom of this binade (or of the subnormals), so adding the biased
  // exponent carries into the next binade by itself.
  const auto bits =
      static_cast<std::uint64_t>(steps) + (static_cast<std::uint64_t>(exponent + bias - 1) << format.mantissa_bits);
  const std::uint64_t top = ((std::uint64_t{1} << format.exponent_bits) - 1) << format.mantissa_bits;
  const std::uint64_t largest = format.has_infinity ? top : top + (std::uint64_t{1} << format.mantissa_bits) - 2;
  return sign | std::min(bits, largest);
}

}  // namespace

Bytes dense_elements(std::span<const std::byte> span, const Tensor& tensor) {
  const auto size = static_cast<std::size_t>(size_in_bytes(tensor.dtype));
  Bytes dense(static_cast<std::size_t>(tensor.elements()) * size);
  std::byte* to = dense.data();
  for_each_element(tensor, [&](std::int64_t offset) {
    std::memcpy(to, span.data() + offset, size);
    to += size;
  });
  return dense;
}

void place_elements(std::span<const std::byte> dense, const Tensor& tensor, std::span<std::byte> span) {
  const auto size = static_cast<std::size_t>(size_in_bytes(tensor.dtype));
  const std::byte* from = dense.data();
  for_each_element(tensor, [&](std::int64_t offset) {
    std::memcpy(span.data() + offset, from, size);
    from += size;
  });
}

std::uint64_t encode_element(double value, Dtype dtype) {
  switch (dtype) {
    case Dtype::kFloat64:
      return std::bit_cast<std::uint64_t>(value);
    case Dtype::kFloat32:
      return std::bit_cast<std::uint32_t>(static_cast<float>(value));
    case Dtype::kBfloat16:
      return encode_float(value, {8, 7, true});
    case Dtype::kFloat16:
      return encode_float(value, {5, 10, true});
    case Dtype::kFloat8E4m3fn:
      return encode_float(value, {4, 3, false});
    case Dtype::kFloat8E5m2:
      return encode_float(value, {5, 2, true});
    case Dtype::kFloat8E8m0: {
      const int exponent = value > 0 ? std::ilogb(value) : -127;
      return static_cast<std::uint64_t>(std::clamp(exponent, -127, 127) + 127);
    }
    case Dtype::kBool:
      return value != 0 ? 1 : 0;
    default: {
      const int bits = 8 * size_in_bytes(dtype);
      const double low = dtype == Dtype::kUint8 ? 0 : -std::ldexp(1.0, bits - 1);
      const double high = dtype == Dtype::kUint8 ? 255 : std::ldexp(1.0, bits - 1) - (bits == 64 ? 1024 : 1);
      const auto integer = static_cast<std::int64_t>(std::clamp(std::nearbyint(value), low, high));
      return static_cast<std::uint64_t>(integer) & (bits == 64 ? ~0ULL : (1ULL << bits) - 1);
    }
  }
}

}  // namespace kf
