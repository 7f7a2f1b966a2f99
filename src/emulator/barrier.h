// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "block.h"
#include "warp.h"

namespace kf::emulator {

// bar.* and barrier.*: Inst::mode.
enum class BarrierOp : std::uint8_t { kSync, kArrive, kRedPopc, kRedAnd, kRedOr };

// `lanes` have come to the barrier instruction `inst` at `pc`. Lanes that must wait get Wait::kBarrier;
// others get their next pc. Releases the barrier when its last thread has come.
void arrive_at_barrier(Warp& warp, const Inst& inst, std::uint32_t pc, Mask lanes);

// A barrier without a thread count waits for all threads that have not exited: called after exits.
void release_after_exit(Block& block);

}  // namespace kf::emulator
