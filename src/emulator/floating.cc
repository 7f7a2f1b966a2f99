// SPDX-License-Identifier: Apache-2.0
#include "floating.h"

#include <array>

namespace kf::emulator {

float half_to_float(std::uint16_t x) {
  const std::uint32_t sign = std::uint32_t{x & 0x8000u} << 16;
  const std::uint32_t rest = x & 0x7fffu;
  if (rest >= 0x7c00u) return float_of_bits(sign | 0x7f80'0000u | (rest & 0x3ff) << 13);
  if (rest >= 0x400u) return float_of_bits(sign | ((rest << 13) + ((127 - 15) << 23)));
  const float magnitude = static_cast<float>(rest) * 0x1p-24f;
  return float_of_bits(sign | bits_of_float(magnitude));
}

std::uint16_t float_to_half(float x) {
  const std::uint32_t bits = bits_of_float(x);
  const std::uint32_t sign = (bits >> 16) & 0x8000u, magnitude = bits & 0x7fff'ffffu;
  if (magnitude > 0x7f80'0000u) return kNan16;
  if (magnitude >= 0x4780'0000u) return static_cast<std::uint16_t>(sign | 0x7c00u);
  if (magnitude >= 0x3880'0000u) {  // normal: the exponent moves, the mantissa rounds
    const std::uint32_t moved = magnitude - ((127 - 15) << 23);
    return static_cast<std::uint16_t>(sign | ((moved + 0xfff + ((moved >> 13) & 1)) >> 13));
  }
  // Subnormal: adding 0.5 puts the unit of 2^-24 at the last mantissa bit of a float, which then rounds.
  const float shifted = float_of_bits(magnitude) + 0.5f;
  return static_cast<std::uint16_t>(sign | (bits_of_float(shifted) - bits_of_float(0.5f)));
}

std::uint32_t float_to_tf32_away(std::uint32_t bits, bool finite) {
  constexpr std::uint32_t kMagnitude = 0x7fff'ffffu, kInf = 0x7f80'0000u, kKept = 0xffff'e000u;
  if ((bits & kMagnitude) < kInf) bits += 0x1000;
  bits &= kKept;
  return finite && (bits & kMagnitude) >= kInf ? bits + kKept : bits;
}

}  // namespace kf::emulator
