// SPDX-License-Identifier: Apache-2.0
// Strong stores and reductions to global memory whose order nothing guarantees: relaxed and volatile ones. They become
// visible one by one, in a random order, when the warp's turns end; all of them at a fence, a release or an exit. A
// lane sees its own at once, and its writes of one place stay in order. A barrier of the block makes them visible to
// the block; other blocks see them after a fence of any of its threads, or late. A strong load, too, may give the value
// from before such a write, once: when another warp's write has become visible since the loading warp, or one that it
// has met at a barrier, last fenced, and neither has read the place since.
#pragma once
#include <array>
#include <cstdint>
#include <unordered_map>
#include <vector>

#include "program.h"

namespace kf::emulator {

struct DelayedWrite {
  std::uint32_t pc = 0, bytes = 0;  // bytes: of a lane
  Mask lanes = 0;
  bool met = false;  // its warp has met the block at a barrier since
  std::array<std::uint64_t, kLanes> at{};
  std::vector<std::uint8_t> sources;  // the instruction's source registers, all lanes
  std::vector<std::uint32_t> clock;   // Warp::clock when it was issued
};

// What a place held before a delayed write became visible.
struct OldValue {
  std::uint32_t number = 0;  // of the write, counted over the launch
  bool met = false;          // DelayedWrite::met
  std::uint64_t block = 0;   // who wrote
  std::uint32_t warp = 0, bytes = 0;
  std::array<std::byte, 16> value{};
  std::array<std::uint8_t, 16> written{};  // of each byte: 0 where it had no value, see Region::written
};
using OldValues = std::unordered_map<std::uint64_t, OldValue>;

// Puts the write being carried out aside. False: it has to happen now.
bool delay(Warp& warp, const Inst& inst, Mask lanes, const std::uint64_t* at, std::uint32_t bytes);
// Called before a delayed write becomes visible at a place, and before the place counts as written.
void keep_old_value(Warp& warp, std::uint64_t address, std::uint32_t bytes);
// For a strong load of one lane: the old value to give, or null.
const OldValue* old_value(Warp& warp, std::uint64_t address, std::uint32_t bytes);
// The warp has the newest value of a place, and will never see an older one.
void note_read(Warp& warp, std::uint64_t address);
// A fence of the warp: neither it nor those of the block that it has met put anything aside any longer, and it reads
// nothing old.
void meet_order(Warp& warp);
// A barrier of the block, on the way in and on the way out.
void meet_block(Warp& warp);
void leave_meeting(Warp& warp);
// Carries out what a lane has put aside, or others of the block that have met it, for a place that it is about to
// touch.
void settle_overlap(Warp& warp, int lane, std::uint64_t address, std::uint32_t bytes);
void settle_all(Warp& warp);
// At the end of a turn: none, or one of them, late ones rather than early ones.
void settle_one(Warp& warp);

}  // namespace kf::emulator
