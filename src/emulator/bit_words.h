// SPDX-License-Identifier: Apache-2.0
// Sets of bits in arrays of 64-bit words.
#pragma once
#include <algorithm>
#include <cstddef>
#include <cstdint>

namespace kf::emulator {

constexpr std::uint64_t low_bits(std::uint64_t count) {
  return count >= 64 ? ~std::uint64_t{0} : (std::uint64_t{1} << count) - 1;
}

// f(word, bits) for the bits `first` .. `last` of an array of 64-bit words.
template <class F>
void each_word(std::uint64_t first, std::uint64_t last, F&& f) {
  for (std::uint64_t word = first / 64; word <= last / 64; ++word) {
    const std::uint64_t from = std::max(first, word * 64) - word * 64, to = std::min(last, word * 64 + 63) - word * 64;
    f(static_cast<std::size_t>(word), low_bits(to - from + 1) << from);
  }
}

}  // namespace kf::emulator
