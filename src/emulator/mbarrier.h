// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "block.h"

namespace kf::emulator {

// Bytes that an asynchronous copy delivered.
void mbarrier_complete_tx(Block& block, std::uint32_t offset, std::uint32_t bytes);
// The mbarrier at a shared address, for one lane: its block and its offset. Reports what is none.
struct MBarrierPlace {
  Block* block = nullptr;
  std::uint32_t offset = 0;
};
MBarrierPlace find_mbarrier(Warp& warp, const Inst& inst, int lane, std::uint64_t shared_address);
void mbarrier_arrive(Block& block, MBarrier& barrier, std::int64_t count);

}  // namespace kf::emulator
