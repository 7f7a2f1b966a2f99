// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "block.h"
#include "race.h"

namespace kf::emulator {

// barrier.cluster.wait of these lanes, whose pc already stands behind it; those that must wait go back to `pc`.
void wait_for_cluster(Warp& warp, const Inst& inst, std::uint32_t pc, Mask lanes);
// Threads that exit no longer count.
void leave_cluster(Block& block, std::uint32_t threads);

}  // namespace kf::emulator
