// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <array>
#include <optional>
#include <string_view>

namespace kf {

// Distributions that a tensor's contents are drawn from. kernels/harness/fill.cuh is the definition, in the same order.
// A row is the last dim. For integer types values are eight times as large, rounded and clamped to the type.
struct FamilyFacts {
  std::string_view name, meaning;
};
inline constexpr std::array<FamilyFacts, 22> kFamilies{{
    {"normal", "mean 0, deviation 1, within 4.9 deviations"},
    {"large", "normal, scaled up as far as the type allows a square to be summed in float32 (float16: 2^10)"},
    {"tiny", "normal, scaled down near the smallest normal value of narrow types; 2^-40 for wide ones"},
    {"offset", "normal + 100: a variance by subtraction cancels"},
    {"spikes",
     "normal with one element a row, and one in 512 elsewhere, scaled up by 2^10 (float8_e4m3fn: 2^6); one in 512 is "
     "0"},
    {"constant", "one value, not zero, everywhere"},
    {"integers", "-4 .. 4: sums are exact in any order"},
    {"mixed", "half of the rows one of the seven families above each, the others eight runs of different ones"},
    {"nonfinite",
     "normal; half of the rows, and mostly the first, have one NaN, +Inf or -Inf, or one in 32; the others one 0 in "
     "eight"},
    {"zeros_signed", "+0 and -0; half of the rows keep a quarter of normal values"},
    {"zero", "+0"},
    {"subnormal", "subnormal values of the type, both signs"},
    {"sorted", "rising along each row from -4 to 4"},
    {"reversed", "falling along each row from 4 to -4"},
    {"ties", "two values a row"},
    {"late", "normal; the last element of each row is larger by 30"},
    {"uniform", "between 0 and 1"},
    {"signed", "between -1 and 1"},
    {"cancel", "pairs that almost cancel: v, then -v + at most 2^-12; wide integers beyond 2^24"},
    {"masked",
     "normal; a quarter of the elements, and a quarter of the rows whole, are -Inf (NaN where there is no Inf)"},
    {"one_hot", "one element of each row is 1, the others are 0: a probe of positions"},
    {"clustered", "normal; elements 16 to 128 apart, or those of a run of a sixteenth of the row, are larger by 30"},
}};

// Index into kFamilies; nullopt: no such family.
constexpr std::optional<int> family_from_string(std::string_view name) {
  for (std::size_t i = 0; i < kFamilies.size(); ++i) {
    if (kFamilies[i].name == name) {
      return static_cast<int>(i);
    }
  }
  return std::nullopt;
}

}  // namespace kf
