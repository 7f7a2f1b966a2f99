// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "base.cuh"
// Every element type as float64 and back, by integer operations; the unit in the last place; where a type overflows.

namespace kf::harness {

// The order of kf::Dtype (host.cc asserts it).
enum Type : int { kF64, kF32, kBf16, kF16, kE4m3, kE5m2, kE8m0, kI64, kI32, kI16, kI8, kU8, kBoolean };

struct Format {
  int mantissa_bits, bias;
  u64 top_finite;   // code of the largest finite value
  bool infinities;  // the code after top_finite is Inf; without, it is NaN
  bool saturates;   // a conversion that overflows gives the largest finite value, as cvt.satfinite does
};

KF_FN bool is_integer(int type) {
  return type >= kI64;
}
KF_FN int bytes_of(int type) {
  return type == kF64 || type == kI64                    ? 8
         : type == kF32 || type == kI32                  ? 4
         : type == kBf16 || type == kF16 || type == kI16 ? 2
                                                         : 1;
}

KF_FN Format format_of(int type) {
  switch (type) {
    case kF32:
      return {23, 127, 0x7F7FFFFFu, true, false};
    case kBf16:
      return {7, 127, 0x7F7Fu, true, false};
    case kF16:
      return {10, 15, 0x7BFFu, true, false};
    case kE4m3:
      return {3, 7, 0x7Eu, false, true};
    case kE5m2:
      return {2, 15, 0x7Bu, true, true};
    case kE8m0:
      return {0, 127, 0xFEu, false, true};
    default:
      return {52, 1023, 0x7FEFFFFFFFFFFFFFull, true, false};
  }
}

// 2^exponent for -1074 <= exponent <= 1023.
KF_FN double power_of_two(int exponent) {
  return exponent < -1022 ? double_of(1ull << (exponent + 1074)) : double_of(static_cast<u64>(exponent + 1023) << 52);
}

inline constexpr u64 kSign = 1ull << 63;
inline constexpr u64 kInfinity = 0x7FF0000000000000ull;
inline constexpr u64 kQuietNan = 0x7FF8000000000000ull;

KF_FN double magnitude(double value) {
  return double_of(bits_of(value) & ~kSign);
}
KF_FN bool is_nan(double value) {
  return (bits_of(value) & ~kSign) > kInfinity;
}
KF_FN bool is_infinite(double value) {
  return (bits_of(value) & ~kSign) == kInfinity;
}
KF_FN bool is_negative(double value) {
  return bits_of(value) >> 63;
}

// floor(log2 |value|) of a normal float64; -1023 for zero and subnormals.
KF_FN int exponent_of(double value) {
  return static_cast<int>((bits_of(value) >> 52) & 0x7FF) - 1023;
}

// Exact for every type but int64 beyond 2^53, which is rounded to nearest even.
KF_FN double decode(int type, u64 bits) {
  switch (type) {
    case kF64:
      return double_of(bits);
    case kI64:
      return static_cast<double>(static_cast<i64>(bits));
    case kI32:
      return static_cast<double>(static_cast<int>(bits));
    case kI16:
      return static_cast<double>(static_cast<short>(bits));
    case kI8:
      return static_cast<double>(static_cast<signed char>(bits));
    case kU8:
    case kBoolean:
      return static_cast<double>(static_cast<u8>(bits));
    case kE8m0:
      return (bits & 0xFF) == 0xFF ? double_of(kQuietNan) : power_of_two(static_cast<int>(bits & 0xFF) - 127);
    default:
      break;
  }
  const Format format = format_of(type);
  const int width = 8 * bytes_of(type);
  const u64 sign = (bits >> (width - 1) & 1) << 63;
  const u64 code = bits & ((1ull << (width - 1)) - 1);
  if (code > format.top_finite) {
    return double_of(sign | (format.infinities && code == format.top_finite + 1 ? kInfinity : kQuietNan));
  }
  const u64 mantissa = code & ((1ull << format.mantissa_bits) - 1);
  const int exponent = static_cast<int>(code >> format.mantissa_bits);
  if (exponent == 0) {
    const double size = static_cast<double>(mantissa) * power_of_two(1 - format.bias - format.mantissa_bits);
    return double_of(sign | bits_of(size));
  }
  return double_of(sign | static_cast<u64>(exponent - format.bias + 1023) << 52 |
                   mantissa << (52 - format.mantissa_bits));
}

// Nearest integer, ties to even, inside [low, high]; NaN gives 0.
KF_FN i64 nearest_integer(double value, i64 low, i64 high) {
  if (is_nan(value)) {
    return 0;
  }
  if (magnitude(value) >= 9007199254740992.0) {  // 2^53: already integral, and far outside every range but int64's
    return is_negative(value) ? (value < static_cast<double>(low) ? low : static_cast<i64>(value))
                              : (value >= static_cast<double>(high) ? high : static_cast<i64>(value));
  }
  i64 whole = static_cast<i64>(value);
  const double rest = magnitude(value - static_cast<double>(whole));
  if (rest > 0.5 || (rest == 0.5 && (whole & 1))) {
    whole += is_negative(value) ? -1 : 1;
  }
  return whole < low ? low : whole > high ? high : whole;
}

KF_FN u64 encode_integer(int type, double value) {
  switch (type) {
    case kI32:
      return static_cast<u64>(nearest_integer(value, -2147483647 - 1, 2147483647)) & 0xFFFFFFFFu;
    case kI16:
      return static_cast<u64>(nearest_integer(value, -32768, 32767)) & 0xFFFFu;
    case kI8:
      return static_cast<u64>(nearest_integer(value, -128, 127)) & 0xFFu;
    case kU8:
      return static_cast<u64>(nearest_integer(value, 0, 255));
    case kBoolean:
      return value != 0.0 && !is_nan(value);
    default:
      return static_cast<u64>(nearest_integer(value, -9223372036854775807 - 1, 9223372036854775807));
  }
}

// Significand of a normal float64 shifted right by `shift`, rounded to nearest, ties to even.
KF_FN u64 rounded_significand(u64 significand, int shift) {
  if (shift >= 54) {
    return 0;  // below half of the smallest subnormal
  }
  const u64 kept = significand >> shift;
  const u64 rest = significand & ((1ull << shift) - 1);
  const u64 half = 1ull << (shift - 1);
  return kept + (rest > half || (rest == half && (kept & 1)) ? 1 : 0);
}

// float8_e8m0 has neither sign nor zero: the nearest power of two of |value|, ties to the even code.
KF_FN u64 encode_e8m0(double value) {
  const u64 size = bits_of(value) & ~kSign;
  if (size >= kInfinity) {
    return 0xFF;
  }
  const u64 fraction = size & ((1ull << 52) - 1);
  const u64 half = 1ull << 51;
  i64 code = exponent_of(value) + 127;
  code += fraction > half || (fraction == half && (code & 1)) ? 1 : 0;
  return code < 0 ? 0 : code > 0xFE ? 0xFE : static_cast<u64>(code);
}

// Round to nearest even. Overflow: Inf where the type has one and does not saturate, else the largest finite value.
// Inf: NaN where the type has no Inf. NaN: the type's quiet NaN.
KF_FN u64 encode(int type, double value) {
  if (is_integer(type)) {
    return encode_integer(type, value);
  }
  if (type == kF64) {
    return bits_of(value);
  }
  if (type == kE8m0) {
    return encode_e8m0(value);
  }
  const Format format = format_of(type);
  const int width = 8 * bytes_of(type);
  const u64 sign = static_cast<u64>(is_negative(value)) << (width - 1);
  const u64 infinity = format.top_finite + 1;  // e4m3: its NaN
  if (is_nan(value)) {
    return sign | infinity | (format.infinities ? 1ull << (format.mantissa_bits - 1) : 0);
  }
  if (is_infinite(value)) {
    return sign | infinity;
  }
  const int exponent = exponent_of(value);
  if (exponent < -1022) {
    return sign;  // float64 zero or subnormal: far below every smaller type
  }
  const int lowest = 1 - format.bias;
  const u64 significand = (bits_of(value) & ((1ull << 52) - 1)) | 1ull << 52;
  const int below = exponent < lowest ? lowest - exponent : 0;
  u64 code = rounded_significand(significand, 52 - format.mantissa_bits + below);
  if (below == 0) {
    code += static_cast<u64>(exponent - lowest) << format.mantissa_bits;
  }
  if (code > format.top_finite) {
    code = format.saturates ? format.top_finite : infinity;
  }
  return sign | code;
}

// encode() of a float32 that is zero or normal, for the types that gigabytes are made of.
KF_FN u32 encode_float(int type, float value) {
  const u32 bits = bits_of(value);
  if (type == kF32) {
    return bits;
  }
  if (type == kBf16) {
    return (bits + 0x7FFF + (bits >> 16 & 1)) >> 16;
  }
  const u32 size = bits & 0x7FFFFFFF;
  if (type == kF16 && size >= 0x38800000 && size < 0x47000000) {  // from 2^-14, its smallest normal, to 2^15
    return (bits >> 16 & 0x8000) | ((size + 0xFFF + (size >> 13 & 1) - (112u << 23)) >> 13);
  }
  return static_cast<u32>(encode(type, value));
}

// The unit in the last place of `type` at `reference`: 2^(max(e, e_min) - mantissa bits) with e = floor(log2
// |reference|), taken before any rounding. So zero and subnormals have the spacing of the subnormals, and a reference
// just below a power of two has the smaller unit of its own binade.
KF_FN double unit_in_last_place(int type, double reference) {
  const Format format = format_of(type);
  const int exponent = exponent_of(reference);
  const int lowest = 1 - format.bias;
  return power_of_two((exponent < lowest ? lowest : exponent) - format.mantissa_bits);
}

// |reference| from which rounding to `type` overflows: the largest finite value and half a unit more. Inf for float64.
KF_FN double overflow_threshold(int type) {
  if (type == kF64) {
    return double_of(kInfinity);
  }
  const double top = decode(type, format_of(type).top_finite);
  return top + 0.5 * unit_in_last_place(type, top);
}

}  // namespace kf::harness
