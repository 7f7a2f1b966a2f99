// SPDX-License-Identifier: Apache-2.0
// What mma.sync and wmma have in common: elements of the operand types, and one accumulator's sum.
#pragma once
#include <algorithm>
#include <cfenv>
#include <cmath>
#include <cstdint>

#include "binder.h"
#include "floating.h"

namespace kf::emulator {

enum class BitProduct : std::uint8_t { kNone, kXor, kAnd };  // of b1 operands

inline double mma_value(Type type, std::uint64_t bits) {
  switch (type) {
    case Type::kF16:
      return half_to_float(static_cast<std::uint16_t>(bits));
    case Type::kBf16:
      return bfloat_to_float(static_cast<std::uint16_t>(bits));
    case Type::kTf32:
      return float_of_bits(static_cast<std::uint32_t>(bits) & 0xffff'e000u);
    case Type::kE4m3:
      return E4m3::decode(static_cast<std::uint32_t>(bits));
    case Type::kE5m2:
      return E5m2::decode(static_cast<std::uint32_t>(bits));
    case Type::kF32:
      return float_of_bits(static_cast<std::uint32_t>(bits));
    case Type::kF64:
      return std::bit_cast<double>(bits);
    case Type::kS8:
      return static_cast<std::int8_t>(bits);
    case Type::kS4:
      return static_cast<double>((static_cast<int>(bits & 15) ^ 8) - 8);
    case Type::kS32:
      return static_cast<std::int32_t>(bits);
    default:
      return static_cast<double>(bits);
  }
}

inline int mma_bits(Type type) {
  return type == Type::kTf32 ? 32 : bits_of(type);
}

// c + the products of k pairs, in double: exact for integers and where every partial sum of floats is exact. Hardware
// adds in an order and width that PTX leaves open. f64 is a chain of fused multiply-adds in the host's rounding mode.
inline double mma_sum(const double* a, const double* b, int k, double c, Type type, BitProduct bits) {
  if (type == Type::kF64) {
    for (int n = 0; n < k; ++n) c = std::fma(a[n], b[n], c);
  } else if (bits == BitProduct::kXor) {
    for (int n = 0; n < k; ++n) c += a[n] + b[n] - 2 * a[n] * b[n];
  } else {
    for (int n = 0; n < k; ++n) c += a[n] * b[n];
  }
  return c;
}

// The sum as an element of the accumulator's type.
inline std::uint64_t mma_result(double sum, Type type, bool saturate) {
  if (type == Type::kF64) return std::bit_cast<std::uint64_t>(sum);
  if (type == Type::kF16) return Half::encode(sum, Round::kNearestEven, saturate);
  if (type == Type::kF32) return bits_of_float(canonical(static_cast<float>(sum)));
  auto whole = static_cast<std::int64_t>(sum);
  if (saturate) whole = std::clamp<std::int64_t>(whole, INT32_MIN, INT32_MAX);
  return static_cast<std::uint32_t>(whole);
}

}  // namespace kf::emulator
