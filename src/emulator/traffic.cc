// SPDX-License-Identifier: Apache-2.0
#include "traffic.h"

#include <algorithm>
#include <array>

namespace kf::emulator {
namespace {

void count_global(LaunchCounters& counters, TouchedSectors& touched, const std::uint64_t* address, Mask lanes,
                  std::uint32_t bytes, bool store) {
  std::array<std::uint64_t, 2 * kLanes> sectors;
  std::size_t count = 0;
  for (Mask rest = lanes; rest != 0; rest &= rest - 1) {
    const std::uint64_t first = address[std::countr_zero(rest)] / 32;
    sectors[count++] = first;
  }
  std::sort(sectors.begin(), sectors.begin() + count);
  const auto distinct =
      static_cast<std::uint64_t>(std::unique(sectors.begin(), sectors.begin() + count) - sectors.begin());
  const std::uint64_t ideal = (std::uint64_t{bytes} * static_cast<std::uint64_t>(std::popcount(lanes)) + 31) / 32;
  for (std::uint64_t k = 0; k < distinct; ++k) touched.add(sectors[k]);
  ++counters.global_requests;
  (store ? counters.global_store_sectors : counters.global_load_sectors) += distinct;
  (store ? counters.ideal_store_sectors : counters.ideal_load_sectors) += std::min(ideal, distinct);
}

// Lanes are served in groups that fill 128 bytes at most: 32 lanes of 4 bytes, 16 of 8, 8 of 16. In a group,
// each bank delivers one word a wavefront; lanes that read the same word share it.
void count_shared(LaunchCounters& counters, const std::uint64_t* address, Mask lanes, std::uint32_t bytes) {
  ++counters.shared_requests;
  const int group = bytes <= 4 ? 32 : bytes == 8 ? 16 : 8;
  for (int first = 0; first < kLanes; first += group) {
    std::array<std::array<std::uint64_t, kLanes>, 32> words;
    std::array<int, 32> used{};
    int most = 0;
    for (int l = first; l < first + group; ++l) {
      if ((lanes >> l & 1) == 0) continue;
      for (std::uint32_t k = 0; k < std::max(1u, bytes / 4); ++k) {
        const std::uint64_t word = address[l] / 4 + k;
        const auto bank = static_cast<std::size_t>(word % 32);
        auto* end = words[bank].data() + used[bank];
        if (std::find(words[bank].data(), end, word) != end || used[bank] == kLanes) continue;
        words[bank][static_cast<std::size_t>(used[bank]++)] = word;
        most = std::max(most, used[bank]);
      }
    }
    counters.shared_wavefronts += static_cast<std::uint64_t>(most);
  }
}

}  // namespace

void count_sectors(Warp& warp, Space space, const std::uint64_t* address, Mask lanes, std::uint32_t bytes, bool store) {
  LaunchCounters& counters = warp.launch->counters;
  Space real = space;
  if (space == Space::kGeneric && lanes != 0) {
    const std::uint64_t first = address[std::countr_zero(lanes)];
    real = first - kSharedWindow < kWindowBytes  ? Space::kShared
           : first - kLocalWindow < kWindowBytes ? Space::kLocal
                                                 : Space::kGlobal;
  }
  if (real == Space::kGlobal) count_global(counters, warp.launch->touched, address, lanes, bytes, store);
  if (real == Space::kShared) count_shared(counters, address, lanes, bytes);
}

}  // namespace kf::emulator
