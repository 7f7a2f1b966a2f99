// SPDX-License-Identifier: Apache-2.0
// Number formats of PTX on the host: flushing, canonical NaN, and rounding to the small formats.
#pragma once
#include <bit>
#include <cmath>
#include <cstdint>

namespace kf::emulator {

// Values of Inst::mode for rounding.
enum class Round : std::uint8_t { kNearestEven, kZero, kDown, kUp, kNearestAway };

inline std::uint32_t bits_of_float(float x) {
  return std::bit_cast<std::uint32_t>(x);
}
inline float float_of_bits(std::uint32_t x) {
  return std::bit_cast<float>(x);
}

inline constexpr std::uint32_t kNan32 = 0x7fff'ffffu;  // what f32 instructions give for any NaN
inline constexpr std::uint16_t kNan16 = 0x7fffu;       // f16 and bf16 alike

inline float canonical(float x) {
  return x != x ? float_of_bits(kNan32) : x;
}
inline float flush(float x) {
  const std::uint32_t bits = bits_of_float(x);
  return (bits & 0x7f80'0000u) == 0 ? float_of_bits(bits & 0x8000'0000u) : x;
}
template <bool kFtz>
float flush_if(float x) {
  return kFtz ? flush(x) : x;
}
// .sat: to [0, 1]; NaN becomes +0.
inline float saturate(float x) {
  return x > 0 ? (x < 1 ? x : 1.0f) : 0.0f;
}

// A binary format of 1 sign bit, kExponent and kMantissa bits. e4m3 has no infinity.
template <int kExponent, int kMantissa, bool kInfinity = true>
struct SmallFloat {
  static constexpr int kBias = (1 << (kExponent - 1)) - 1;
  static constexpr int kMaxExponent = kInfinity ? (1 << kExponent) - 2 : (1 << kExponent) - 1;
  static constexpr std::uint32_t kSign = 1u << (kExponent + kMantissa);
  static constexpr std::uint32_t kNan = kSign - 1;
  static constexpr std::uint32_t kInf = ((1u << kExponent) - 1) << kMantissa;  // where there is one
  static constexpr std::uint32_t kLargest = kInfinity ? kInf - 1 : kSign - 2;

  static double decode(std::uint32_t bits) {
    const double sign = (bits & kSign) != 0 ? -1.0 : 1.0;
    const int exponent = static_cast<int>((bits >> kMantissa) & ((1u << kExponent) - 1));
    const std::uint32_t mantissa = bits & ((1u << kMantissa) - 1);
    if (kInfinity && exponent == (1 << kExponent) - 1) return mantissa != 0 ? std::nan("") : sign * HUGE_VAL;
    if (!kInfinity && (bits & (kSign - 1)) == kNan) return std::nan("");
    if (exponent == 0) return sign * std::ldexp(static_cast<double>(mantissa), 1 - kBias - kMantissa);
    return sign * std::ldexp(static_cast<double>(mantissa | (1u << kMantissa)), exponent - kBias - kMantissa);
  }

  // One correct rounding of a double. `finite`: overflow gives the largest finite value (.satfinite).
  static std::uint32_t encode(double x, Round round = Round::kNearestEven, bool finite = false) {
    if (x != x) return kNan;
    const std::uint64_t bits = std::bit_cast<std::uint64_t>(x);
    const bool negative = (bits >> 63) != 0;
    const std::uint32_t sign = negative ? kSign : 0;
    if ((bits << 1) == 0) return sign;
    if (std::isinf(x)) return sign | (finite ? kLargest : kInfinity ? kInf : kNan);
    const std::uint64_t fraction = bits & ((std::uint64_t{1} << 52) - 1);
    int exponent = static_cast<int>((bits >> 52) & 0x7ff);
    if (exponent == 0) return sign | (rounds_up(round, negative, false, false, true) ? 1u : 0u);  // double subnormal
    exponent -= 1023;
    const std::uint64_t significand = fraction | (std::uint64_t{1} << 52);
    int drop = 52 - kMantissa;
    int field = exponent + kBias;
    if (field < 1) {
      drop += 1 - field;
      field = 0;
    }
    std::uint64_t kept = 0;
    bool half = false, rest = true;
    if (drop <= 54) {
      kept = drop >= 64 ? 0 : significand >> drop;
      half = ((significand >> (drop - 1)) & 1) != 0;
      rest = (significand & ((std::uint64_t{1} << (drop - 1)) - 1)) != 0;
    }
    if ((half || rest) && rounds_up(round, negative, (kept & 1) != 0, half, rest)) ++kept;
    // kept holds the hidden bit when normal, so adding it to the exponent field carries by itself.
    const std::uint64_t magnitude = field == 0 ? kept : (static_cast<std::uint64_t>(field - 1) << kMantissa) + kept;
    if (magnitude > kLargest) {
      if (finite) return sign | kLargest;
      const bool to_infinity = round == Round::kNearestEven || round == Round::kNearestAway ||
                               (round == Round::kUp && !negative) || (round == Round::kDown && negative);
      return sign | (to_infinity ? (kInfinity ? kInf : kNan) : kLargest);
    }
    return sign | static_cast<std::uint32_t>(magnitude);
  }

 private:
  static bool rounds_up(Round round, bool negative, bool odd, bool half, bool rest) {
    switch (round) {
      case Round::kNearestEven:
        return half && (rest || odd);
      case Round::kNearestAway:
        return half;
      case Round::kZero:
        return false;
      case Round::kDown:
        return negative && (half || rest);
      default:
        return !negative && (half || rest);
    }
  }
};

using Half = SmallFloat<5, 10>;
using Bfloat = SmallFloat<8, 7>;
using Tf32 = SmallFloat<8, 10>;
using E4m3 = SmallFloat<4, 3, false>;
using E5m2 = SmallFloat<5, 2>;

float half_to_float(std::uint16_t x);
std::uint16_t float_to_half(float x);  // nearest even; NaN -> 0x7fff
inline float bfloat_to_float(std::uint16_t x) {
  return float_of_bits(std::uint32_t{x} << 16);
}
inline std::uint16_t float_to_bfloat(float x) {  // nearest even; NaN -> 0x7fff
  if (x != x) return kNan16;
  const std::uint32_t bits = bits_of_float(x);
  return static_cast<std::uint16_t>((bits + 0x7fff + ((bits >> 16) & 1)) >> 16);
}

// cvt.rna.tf32 of a float's bits: half a unit is added and the rest cut off, that of NaN too. `finite` (.satfinite):
// what is no finite number then becomes the largest one, or, if NaN, another NaN.
std::uint32_t float_to_tf32_away(std::uint32_t bits, bool finite);

// a * b + c rounded to odd in double: rounding it once more to a format of up to 51 bits is exact.
inline double fma_to_odd(double a, double b, double c) {
  const double product = a * b;  // exact for factors of up to 26 bits
  const double sum = product + c;
  if (!std::isfinite(sum)) return sum;
  const double part = sum - product;
  const double error = (product - (sum - part)) + (c - part);
  std::uint64_t bits = std::bit_cast<std::uint64_t>(sum);
  if (error != 0 && (bits & 1) == 0) bits += (error > 0) == (sum > 0) ? 1 : std::uint64_t(-1);
  return std::bit_cast<double>(bits);
}

}  // namespace kf::emulator
