// SPDX-License-Identifier: Apache-2.0
#include "race.h"

#include <algorithm>

#include "peers.h"

namespace kf::emulator {
namespace {

bool ordered(const Warp& warp, int lane, const Touch& earlier) {
  if (earlier.time == 0) return true;
  if (earlier.rank != warp.block->rank)
    return !warp.launch->check_races ||
           race_ordered_across(warp, warp.block->cluster->blocks[earlier.rank]->linear, earlier.warp, earlier.time);
  if (earlier.warp == warp.index) return race_ordered_lanes(warp, lane, earlier.lane, earlier.time);
  return warp.clock[earlier.warp] >= earlier.time;
}

[[noreturn]] void found(Warp& warp, const Inst& inst, int lane, std::uint64_t offset, const char* now,
                        const char* before, const Touch& other) {
  const Launch& launch = *warp.launch;
  const bool peer = other.rank != warp.block->rank;
  const Warp& other_warp = warp.block->cluster->blocks[other.rank]->warps[other.warp];
  Inst where;
  where.source = other.source;
  report(warp, inst, lane,
         Found{Checker::kRace,
               std::string("race on shared memory: ") + now + " byte " + std::to_string(offset) + " of " +
                   (peer ? "shared memory of the cluster, which " : "the block's shared memory, which ") +
                   describe_thread(other_warp, other.lane) +
                   (peer ? " of block " + std::to_string(other.rank) + " of the cluster " : " ") + before + " at " +
                   describe_source(launch, where) + "; no barrier lies between them",
               {source_place(launch, other.source, before)}});
}

void sync_lanes(Warp& warp, Mask lanes) {
  const std::uint32_t now = ++warp.clock[warp.index];
  each_lane(lanes, [&](int l) { warp.lane_sync[static_cast<std::size_t>(l)] = now; });
  if ((lanes | warp.exited) == kAllLanes) {
    warp.whole_sync = now;
    warp.part_syncs.clear();
    return;
  }
  constexpr std::size_t kMostParts = 64;  // beyond that the older half counts as one of the whole warp
  if (warp.part_syncs.size() == kMostParts) {
    warp.whole_sync = warp.part_syncs[kMostParts / 2 - 1].time;
    warp.part_syncs.erase(warp.part_syncs.begin(), warp.part_syncs.begin() + kMostParts / 2);
  }
  warp.part_syncs.push_back({now, lanes});
}

// Whether a write that no order keeps from an earlier one leaves those bytes of `mask`, in the word at `word`, as the
// earlier one made them: whichever comes last, they hold the same.
bool same_bytes(const Warp& warp, int lane, const Block& owner, std::uint64_t word, int mask, const Touch& earlier) {
  if (warp.storing == nullptr) return false;
  const bool own = earlier.warp == warp.index && earlier.rank == warp.block->rank;
  const bool one_store = own && static_cast<std::int32_t>(earlier.event - warp.storing->began) > 0;
  if (own && &owner != warp.block) return false;  // whether it is of this very store is not known
  for (std::uint64_t k = 0; k < 4; ++k) {
    if ((mask >> k & 1) == 0) continue;
    const std::uint64_t at = word * 4 + k;
    if (byte_stored(warp, lane, at) != (one_store ? byte_stored(warp, earlier.lane, at) : owner.shared[at]))
      return false;
  }
  return true;
}

bool same_thread(const Touch& a, const Touch& b) {
  return a.warp == b.warp && a.lane == b.lane && a.rank == b.rank;
}

}  // namespace

bool race_ordered_lanes(const Warp& warp, int lane, int earlier, std::uint32_t time) {
  if (lane == earlier || warp.whole_sync > time) return true;
  if (warp.lane_sync[static_cast<std::size_t>(lane)] <= time) return false;
  Mask met = Mask{1} << earlier;  // lanes that know of it
  for (const LaneSync& sync : warp.part_syncs)
    if (sync.time > time && (sync.lanes & met) != 0) met |= sync.lanes;
  return (met >> lane & 1) != 0;
}

void race_check(Warp& warp, const Inst& inst, int lane, Block& owner, std::uint64_t offset, std::uint32_t bytes,
                Access access) {
  const std::uint32_t now = warp.clock[warp.index];
  ++owner.events;
  const bool strong = access == Access::kAtomic || inst.strong;
  for (std::uint64_t word = offset / 4; word <= (offset + bytes - 1) / 4; ++word) {
    const std::uint64_t first = std::max(offset, word * 4), last = std::min(offset + bytes, word * 4 + 4);
    const auto mask = static_cast<std::uint8_t>(((1u << (last - first)) - 1) << (first - word * 4));
    WordHistory& history = owner.shared_history[word];
    const Touch touch{now,
                      static_cast<std::uint32_t>(owner.events),
                      inst.source,
                      static_cast<std::uint8_t>(warp.index),
                      static_cast<std::uint8_t>(lane),
                      static_cast<std::uint8_t>(warp.block->rank),
                      static_cast<std::uint8_t>(strong ? mask | kStrongTouch : mask)};
    auto conflicts = [&](const Touch& earlier) {
      return (earlier.bytes & mask) != 0 && !(strong && (earlier.bytes & kStrongTouch) != 0) &&
             !ordered(warp, lane, earlier);
    };
    if (strong && history.write.rank != touch.rank && (history.write.bytes & kStrongTouch) != 0) {
      // A flag of a peer: what was released before it was set is acquired from by the next fence.
      std::uint32_t& seen = warp.fence(FenceKnowledge::kSeen);
      seen = std::max(seen, warp.launch->fences);
      if (&owner == warp.block) peer_seen(owner, history.write.rank, history.write.warp, history.write.time);
    }
    if (conflicts(history.write) &&
        !(access == Access::kWrite && same_bytes(warp, lane, owner, word, history.write.bytes & mask, history.write)))
      found(warp, inst, lane, first, access == Access::kRead ? "reads" : "writes", "wrote", history.write);
    if (access == Access::kRead) {
      const bool same_warp = history.read.warp == touch.warp && history.read.rank == touch.rank;
      if (history.read.time != 0 && !same_warp) history.other_read = history.read;
      if (history.read.time == now && same_warp && history.read.lane != touch.lane) history.other_lane = history.read;
      history.read = touch;
      continue;
    }
    for (const Touch* read : {&history.read, &history.other_read, &history.other_lane})
      if (conflicts(*read)) found(warp, inst, lane, first, "writes", "read", *read);
    if (history.write.bytes != touch.bytes && history.write.time == now && same_thread(history.write, touch)) {
      history.write.bytes |= touch.bytes;  // one thread fills a word piece by piece
    } else {
      history.write = touch;
    }
    history.read = history.other_read = history.other_lane = {};
  }
}

void race_check_lanes(Warp& warp, const Inst& inst, Mask lanes, const std::uint32_t* offset, std::uint32_t bytes,
                      Access access) {
  Block& block = *warp.block;
  const std::uint8_t all = inst.strong ? 0xf | kStrongTouch : 0xf;
  Touch touch{warp.clock[warp.index],
              0,
              inst.source,
              static_cast<std::uint8_t>(warp.index),
              0,
              static_cast<std::uint8_t>(block.rank),
              all};
  for (Mask rest = lanes; rest != 0; rest &= rest - 1) {
    const int lane = std::countr_zero(rest);
    touch.lane = static_cast<std::uint8_t>(lane);
    for (std::uint32_t at = offset[lane]; at < offset[lane] + bytes; at += 4) {
      WordHistory& history = block.shared_history[at / 4];
      // What is usual: nobody else has been here since the last barrier. Everything else is looked at with care.
      const bool nobody_else =
          ordered(warp, lane, history.write) && (history.write.bytes == all || history.write.time != touch.time);
      if (access == Access::kRead && nobody_else && (history.read.time == 0 || same_thread(history.read, touch))) {
        touch.event = static_cast<std::uint32_t>(++block.events);
        history.read = touch;
      } else if (access == Access::kWrite && nobody_else && ordered(warp, lane, history.read) &&
                 history.other_read.time == 0 && history.other_lane.time == 0) {
        touch.event = static_cast<std::uint32_t>(++block.events);
        history.write = touch;
        history.read = {};
      } else {
        race_check(warp, inst, lane, block, at, 4, access);
      }
    }
  }
}

void race_publish(Warp& warp, std::vector<std::uint32_t>& clock) {
  meet_block(warp);
  clock.resize(warp.clock.size());
  for (std::size_t k = 0; k < clock.size(); ++k) clock[k] = std::max(clock[k], warp.clock[k]);
  ++warp.clock[warp.index];
}

void race_join(Warp& warp, const std::vector<std::uint32_t>& clock) {
  for (std::size_t k = 0; k < clock.size(); ++k)
    if (k != warp.index) warp.clock[k] = std::max(warp.clock[k], clock[k]);
  ++warp.clock[warp.index];
  leave_meeting(warp);
  sync_lanes(warp, kAllLanes);
}

void race_release(Warp& warp) {
  meet_order(warp);
  Launch& launch = *warp.launch;
  const std::uint32_t number = ++launch.fences;
  if (warp.block->first_release == 0) warp.block->first_release = number;
  auto& of_block = launch.releases[warp.block->linear];
  of_block.resize(warp.block->warps.size());
  for (std::size_t k = 0; k < of_block.size(); ++k)
    if (of_block[k].empty() || of_block[k].back().epoch < warp.clock[k]) of_block[k].push_back({warp.clock[k], number});
  warp.fence(FenceKnowledge::kReleased) = number;
  if (launch.waited_release == 0 && warp.fence(FenceKnowledge::kWaited) != 0) launch.waited_release = number;
  ++warp.clock[warp.index];
}

void race_acquire(Warp& warp, std::uint32_t fences) {
  meet_order(warp);
  std::uint32_t& acquired = warp.fence(FenceKnowledge::kAcquired);
  acquired = std::max(acquired, fences);
}

bool race_ordered_across(const Warp& warp, std::uint64_t block, std::uint32_t index, std::uint32_t time) {
  const auto of_block = warp.launch->releases.find(block);
  if (of_block == warp.launch->releases.end()) return false;
  const std::vector<Release>& all = of_block->second[index];
  const auto first = std::ranges::lower_bound(all, time, {}, &Release::epoch);
  return first != all.end() && first->fence <= warp.fence(FenceKnowledge::kAcquired);
}

bool race_has_waited(const Warp& warp) {
  const std::uint32_t release = warp.launch->waited_release;
  return warp.fence(FenceKnowledge::kWaited) != 0 || (release != 0 && warp.fence(FenceKnowledge::kAcquired) >= release);
}

void race_fence(Warp& warp, bool block_only) {
  if (!block_only) {
    race_release(warp);
    std::uint32_t& acquired = warp.fence(FenceKnowledge::kAcquired);
    acquired = std::max(acquired, warp.fence(FenceKnowledge::kSeen));
  }
  race_publish(warp, warp.block->fence_clock);
  race_join(warp, warp.block->fence_clock);
}

void race_warp_sync(Warp& warp, Mask lanes) {
  settle_all(warp);
  sync_lanes(warp, lanes);
}

}  // namespace kf::emulator
