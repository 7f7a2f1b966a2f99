// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cstdint>

#include "block.h"
#include "warp.h"

namespace kf::emulator {

// Adds one warp's memory request to the launch's counters: 32-byte sectors of global memory, wavefronts of
// the 32 banks of shared memory. Costs nothing unless the launch profiles.
void count_sectors(Warp& warp, Space space, const std::uint64_t* address, Mask lanes, std::uint32_t bytes, bool store);

inline void count_traffic(Warp& warp, Space space, const std::uint64_t* address, Mask lanes, std::uint32_t bytes,
                          bool store) {
  if (warp.launch->profile) count_sectors(warp, space, address, lanes, bytes, store);
}

}  // namespace kf::emulator
