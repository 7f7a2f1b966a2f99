// SPDX-License-Identifier: Apache-2.0
#include "traffic.h"

#include <algorithm>
#include <array>

#include "mix.h"

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
    counters.ideal_wavefronts += most > 0;
  }
}

}  // namespace

LaunchCounters& LaunchCounters::operator+=(const LaunchCounters& more) {
  warp_instructions += more.warp_instructions;
  lane_instructions += more.lane_instructions;
  global_load_sectors += more.global_load_sectors;
  global_store_sectors += more.global_store_sectors;
  ideal_load_sectors += more.ideal_load_sectors;
  ideal_store_sectors += more.ideal_store_sectors;
  global_requests += more.global_requests;
  shared_requests += more.shared_requests;
  shared_wavefronts += more.shared_wavefronts;
  ideal_wavefronts += more.ideal_wavefronts;
  barriers += more.barriers;
  atomics += more.atomics;
  tensor_flops += more.tensor_flops;
  executed.resize(std::max(executed.size(), more.executed.size()));
  for (std::size_t pc = 0; pc < more.executed.size(); ++pc) executed[pc] += more.executed[pc];
  return *this;
}

namespace {

Space real_space(Space space, std::uint64_t address) {
  if (space != Space::kGeneric) return space;
  return address - kSharedWindow < kWindowBytes  ? Space::kShared
         : address - kLocalWindow < kWindowBytes ? Space::kLocal
                                                 : Space::kGlobal;
}

}  // namespace

void count_sectors(Warp& warp, Space space, const std::uint64_t* address, Mask lanes, std::uint32_t bytes, bool store) {
  if (lanes == 0) return;
  LaunchCounters& counters = warp.launch->counters;
  const Space real = real_space(space, address[std::countr_zero(lanes)]);
  if (real == Space::kGlobal) count_global(counters, warp.launch->touched, address, lanes, bytes, store);
  if (real == Space::kShared) count_shared(counters, address, lanes, bytes);
}

void count_row(Warp& warp, Space space, std::uint64_t address, std::uint32_t bytes, bool store) {
  if (!warp.launch->profile || bytes == 0) return;
  LaunchCounters& counters = warp.launch->counters;
  const Space real = real_space(space, address);
  if (real == Space::kGlobal) {
    const std::uint64_t first = address / 32, last = (address + bytes - 1) / 32;
    for (std::uint64_t sector = first; sector <= last; ++sector) warp.launch->touched.add(sector);
    ++counters.global_requests;
    (store ? counters.global_store_sectors : counters.global_load_sectors) += last - first + 1;
    (store ? counters.ideal_store_sectors : counters.ideal_load_sectors) += (bytes + 31) / 32;
  }
  if (real == Space::kShared) {
    ++counters.shared_requests;
    counters.shared_wavefronts += (bytes + 127) / 128;
    counters.ideal_wavefronts += (bytes + 127) / 128;
  }
}

LaunchCounts counts_of(const Launch& launch, std::int64_t blocks) {
  const LaunchCounters& c = launch.counters;
  const auto number = [](std::uint64_t value) { return static_cast<std::int64_t>(value); };
  LaunchCounts made;
  made.blocks = blocks;
  made.warp_instructions = number(c.warp_instructions);
  made.lane_instructions = number(c.lane_instructions);
  for (std::size_t pc = 0; pc < c.executed.size(); ++pc)
    if (c.executed[pc] != 0)
      made.mix[std::string(kind_of(launch.program->sources[launch.program->code[pc].source].text))] +=
          number(c.executed[pc]);
  made.dram_bytes = number(launch.touched.bytes());
  made.load_sectors = number(c.global_load_sectors);
  made.store_sectors = number(c.global_store_sectors);
  made.excess_load_sectors = number(c.global_load_sectors - c.ideal_load_sectors);
  made.excess_store_sectors = number(c.global_store_sectors - c.ideal_store_sectors);
  made.global_requests = number(c.global_requests);
  made.shared_requests = number(c.shared_requests);
  made.shared_wavefronts = number(c.shared_wavefronts);
  made.bank_conflicts = number(c.shared_wavefronts - c.ideal_wavefronts);
  made.barriers = number(c.barriers);
  made.atomics = number(c.atomics);
  made.tensor_flops = number(c.tensor_flops);
  return made;
}

}  // namespace kf::emulator
