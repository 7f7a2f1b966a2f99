// SPDX-License-Identifier: Apache-2.0
// Calls through registers and calls of functions that may be active more than once. Registers, parameters and frames
// have fixed places; such a function finds its places free, because the call puts away what the caller of the same
// function had in them, and its frames lie on a stack of each lane.
#pragma once
#include "warp.h"

namespace kf::emulator {

// Flow::kCallFrame: Inst::a is the slot of the address, or kNoSlot and Inst::imm the function's number. Program::extras
// from Inst::extra: how many arguments, how many results, then place and bytes of each.
void call_with_frame(Warp& warp, const Inst& inst, std::uint32_t pc, Mask lanes);
// Room on a lane's stack; reports when there is none left. Returns its local address.
std::uint32_t take_stack(Warp& warp, const Inst& inst, int lane, std::uint64_t bytes, std::uint64_t align);
// Ends the innermost call of a lane, which must have one.
void end_call(Warp& warp, int lane);

}  // namespace kf::emulator
