// SPDX-License-Identifier: Apache-2.0
// Strong stores and reductions to global memory whose order nothing guarantees: relaxed and volatile ones. They become
// visible one by one, in a random order, when the warp's turn ends; all of them at a fence, a release, a barrier or an
// exit. A lane sees its own at once, and its writes of one place stay in order.
// A strong load, too, may give the value from before such a write, once: when another warp's write has become visible
// since the loading warp last fenced or met others at a barrier, and the warp has not read the place since.
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
  std::array<std::uint64_t, kLanes> at{};
  std::vector<std::uint8_t> sources;  // the instruction's source registers, all lanes
};

// What a place held before a delayed write became visible.
struct OldValue {
  std::uint64_t number = 0, block = 0;  // of the write, counted over the launch; who wrote
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
// A fence or a barrier of the warp: nothing is put aside any longer, nothing old is read.
void meet_order(Warp& warp);
// Carries out what a lane has put aside for a place that it is about to touch.
void settle_overlap(Warp& warp, int lane, std::uint64_t address, std::uint32_t bytes);
void settle_all(Warp& warp);
// At the end of a turn: one of them, late ones rather than early ones.
void settle_one(Warp& warp);

}  // namespace kf::emulator
