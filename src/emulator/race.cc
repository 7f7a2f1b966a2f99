// SPDX-License-Identifier: Apache-2.0
#include "race.h"

#include <algorithm>

namespace kf::emulator {
namespace {

bool ordered(const Warp& warp, int lane, const Touch& earlier) {
  if (earlier.time == 0) return true;
  if (earlier.warp == warp.index)
    return earlier.lane == lane || warp.lane_sync[static_cast<std::size_t>(lane)] > earlier.time;
  return warp.clock[earlier.warp] >= earlier.time;
}

[[noreturn]] void found(Warp& warp, const Inst& inst, int lane, std::uint64_t offset, const char* now,
                        const char* before, const Touch& other) {
  const Launch& launch = *warp.launch;
  const Warp& other_warp = warp.block->warps[other.warp];
  Inst where;
  where.source = other.source;
  report(warp, inst, lane,
         std::string("race on shared memory: ") + now + " byte " + std::to_string(offset) +
             " of the block's shared memory, which " + describe_thread(other_warp, other.lane) + " " + before + " at " +
             describe_source(launch, where) + "; no barrier lies between them");
}

}  // namespace

void race_check(Warp& warp, const Inst& inst, int lane, std::uint64_t offset, std::uint32_t bytes, Access access) {
  Block& block = *warp.block;
  const std::uint32_t now = warp.clock[warp.index];
  ++block.events;
  const bool atomic = access == Access::kAtomic;
  for (std::uint64_t word = offset / 4; word <= (offset + bytes - 1) / 4; ++word) {
    const std::uint64_t first = std::max(offset, word * 4), last = std::min(offset + bytes, word * 4 + 4);
    const auto mask = static_cast<std::uint8_t>(((1u << (last - first)) - 1) << (first - word * 4));
    WordHistory& history = block.shared_history[word];
    const Touch touch{now,
                      static_cast<std::uint32_t>(block.events),
                      inst.source,
                      static_cast<std::uint8_t>(warp.index),
                      static_cast<std::uint8_t>(lane),
                      mask,
                      atomic};
    auto conflicts = [&](const Touch& earlier) {
      return (earlier.bytes & mask) != 0 && !(earlier.atomic && atomic) && !ordered(warp, lane, earlier);
    };
    if (conflicts(history.write))
      found(warp, inst, lane, first, access == Access::kRead ? "reads" : "writes", "wrote", history.write);
    if (access == Access::kRead) {
      if (history.read.time != 0 && history.read.warp != touch.warp) history.other_read = history.read;
      if (history.read.time == now && history.read.warp == touch.warp && history.read.lane != touch.lane)
        history.other_lane = history.read;
      history.read = touch;
      continue;
    }
    for (const Touch* read : {&history.read, &history.other_read, &history.other_lane})
      if (conflicts(*read)) found(warp, inst, lane, first, "writes", "read", *read);
    if (history.write.bytes != mask && history.write.time == now && history.write.lane == touch.lane &&
        history.write.warp == touch.warp) {
      history.write.bytes |= mask;  // one thread fills a word piece by piece
    } else {
      history.write = touch;
    }
    history.read = history.other_read = history.other_lane = {};
  }
}

void race_publish(Warp& warp, std::vector<std::uint32_t>& clock) {
  clock.resize(warp.clock.size());
  for (std::size_t k = 0; k < clock.size(); ++k) clock[k] = std::max(clock[k], warp.clock[k]);
  ++warp.clock[warp.index];
}

void race_join(Warp& warp, const std::vector<std::uint32_t>& clock) {
  for (std::size_t k = 0; k < clock.size(); ++k)
    if (k != warp.index) warp.clock[k] = std::max(warp.clock[k], clock[k]);
  ++warp.clock[warp.index];
  race_warp_sync(warp, kAllLanes);
}

void race_fence(Warp& warp) {
  race_publish(warp, warp.block->fence_clock);
  race_join(warp, warp.block->fence_clock);
}

void race_warp_sync(Warp& warp, Mask lanes) {
  const std::uint32_t now = ++warp.clock[warp.index];
  each_lane(lanes, [&](int l) { warp.lane_sync[static_cast<std::size_t>(l)] = now; });
}

}  // namespace kf::emulator
