// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <bit>
#include <cstdint>
#include <unordered_map>

namespace kf::emulator {

// Which 32-byte sectors of global memory a launch touched, 64 a word.
class TouchedSectors {
 public:
  void add(std::uint64_t sector) { words_[sector / 64] |= std::uint64_t{1} << (sector % 64); }
  void add(const TouchedSectors& more) {
    for (const auto& [at, word] : more.words_) words_[at] |= word;
  }
  std::uint64_t bytes() const {
    std::uint64_t sectors = 0;
    for (const auto& [at, word] : words_) sectors += static_cast<std::uint64_t>(std::popcount(word));
    return 32 * sectors;
  }

 private:
  std::unordered_map<std::uint64_t, std::uint64_t> words_;
};

}  // namespace kf::emulator
