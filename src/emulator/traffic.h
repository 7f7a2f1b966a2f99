// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cstdint>

#include <kfactory/measurement.h>

#include "block.h"
#include "warp.h"

namespace kf::emulator {

// Adds one warp's memory request to the launch's counters: 32-byte sectors of global memory, wavefronts of
// the 32 banks of shared memory. Costs nothing unless the launch profiles.
void count_sectors(Warp& warp, Space space, const std::uint64_t* address, Mask lanes, std::uint32_t bytes, bool store);

// The same for `bytes` in a row, which a bulk copy moves.
void count_row(Warp& warp, Space space, std::uint64_t address, std::uint32_t bytes, bool store);

// What a launch in `blocks` blocks did, in the words of an estimate.
LaunchCounts counts_of(const Launch& launch, std::int64_t blocks);

inline void count_traffic(Warp& warp, Space space, const std::uint64_t* address, Mask lanes, std::uint32_t bytes,
                          bool store) {
  if (warp.launch->profile) count_sectors(warp, space, address, lanes, bytes, store);
}

}  // namespace kf::emulator
