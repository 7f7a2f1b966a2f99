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
FloatFormat format_of(Dtype dtype) {
  switch (dtype) {
    case Dtype::kFloat64:
      return {11, 52, true};
    case Dtype::kFloat32:
      return {8, 23, true};
    case Dtype::kBfloat16:
      return {8, 7, true};
    case Dtype::kFloat16:
      return {5, 10, true};
    case Dtype::kFloat8E4m3fn:
      return {4, 3, false};
    default:
      return {5, 2, true};  // kFloat8E5m2
  }
}

double decode_float(std::uint64_t bits, FloatFormat format) {
  const std::uint64_t mantissa = bits & ((std::uint64_t{1} << format.mantissa_bits) - 1);
  const int exponent_mask = (1 << format.exponent_bits) - 1;
  const int exponent = static_cast<int>(bits >> format.mantissa_bits) & exponent_mask;
  const bool negative = (bits >> (format.exponent_bits + format.mantissa_bits) & 1) != 0;
  const int bias = exponent_mask / 2;
  double magnitude =
      std::ldexp(static_cast<double>(mantissa | (exponent == 0 ? 0 : std::uint64_t{1} << format.mantissa_bits)),
                 std::max(exponent, 1) - bias - format.mantissa_bits);
  if (format.has_infinity && exponent == exponent_mask) {
    magnitude = mantissa == 0 ? std::numeric_limits<double>::infinity() : std::numeric_limits<double>::quiet_NaN();
  } else if (!format.has_infinity && exponent == exponent_mask &&
             mantissa == (std::uint64_t{1} << format.mantissa_bits) - 1) {
    magnitude = std::numeric_limits<double>::quiet_NaN();
  }
  return negative ? -magnitude : magnitude;
}

// Rounds a finite magnitude to a format with subnormals. Scaling by powers of two is exact here, so only the one
// rounding of nearbyint remains.
std::uint64_t encode_float(double value, FloatFormat format) {
  const int bias = (1 << (format.exponent_bits - 1)) - 1;
  const std::uint64_t sign =
      std::signbit(value) ? std::uint64_t{1} << (format.exponent_bits + format.mantissa_bits) : 0;
  const double magnitude = std::abs(value);
  const std::uint64_t infinity = ((std::uint64_t{1} << format.exponent_bits) - 1) << format.mantissa_bits;
  if (std::isnan(value)) {
    return infinity | (format.has_infinity ? std::uint64_t{1} << (format.mantissa_bits - 1)
                                           : (std::uint64_t{1} << format.mantissa_bits) - 1);
  }
  if (std::isinf(value)) {
    return sign | (format.has_infinity ? infinity : infinity + (std::uint64_t{1} << format.mantissa_bits) - 2);
  }
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
    case Dtype::kFloat16:
    case Dtype::kFloat8E4m3fn:
    case Dtype::kFloat8E5m2:
      return encode_float(value, format_of(dtype));
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

double decode_element(std::uint64_t bits, Dtype dtype) {
  switch (dtype) {
    case Dtype::kFloat8E8m0:
      return bits == 0xFF ? std::numeric_limits<double>::quiet_NaN() : std::ldexp(1.0, static_cast<int>(bits) - 127);
    case Dtype::kBool:
      return bits != 0 ? 1.0 : 0.0;
    case Dtype::kUint8:
      return static_cast<double>(bits & 0xFF);
    default:
      break;
  }
  if (is_floating(dtype)) {
    return decode_float(bits, format_of(dtype));
  }
  const int unused = 64 - 8 * size_in_bytes(dtype);
  return static_cast<double>(static_cast<std::int64_t>(bits << unused) >> unused);
}

std::vector<double> decode_elements(std::span<const std::byte> dense, Dtype dtype) {
  const auto size = static_cast<std::size_t>(size_in_bytes(dtype));
  std::vector<double> values(dense.size() / size);
  for (std::size_t i = 0; i < values.size(); ++i) {
    std::uint64_t bits = 0;
    std::memcpy(&bits, &dense[i * size], size);
    values[i] = decode_element(bits, dtype);
  }
  return values;
}

Bytes encode_elements(std::span<const double> values, Dtype dtype) {
  const auto size = static_cast<std::size_t>(size_in_bytes(dtype));
  Bytes dense(values.size() * size);
  for (std::size_t i = 0; i < values.size(); ++i) {
    const std::uint64_t bits = encode_element(values[i], dtype);
    std::memcpy(&dense[i * size], &bits, size);
  }
  return dense;
}

double unit_in_last_place(double value, Dtype dtype) {
  if (!is_floating(dtype) || !std::isfinite(value)) {
    return 0.0;
  }
  if (dtype == Dtype::kFloat8E8m0) {
    return std::abs(value);
  }
  const FloatFormat format = format_of(dtype);
  const int least = 2 - (1 << (format.exponent_bits - 1));  // exponent of the smallest normal value
  const int exponent = value == 0 ? least : std::max(std::ilogb(value), least);
  return std::ldexp(1.0, exponent - format.mantissa_bits);
}

}  // namespace kf
