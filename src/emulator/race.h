// SPDX-License-Identifier: Apache-2.0
// Races on shared memory. Each warp has a vector clock; barriers, mbarriers and atomics join clocks. Two
// accesses to a byte conflict when one writes, they come from different threads, not both are atomic, and
// neither is ordered before the other; not two writes of the same value. Inside a warp, bar.warp.sync orders.
#pragma once
#include "access.h"
#include "block.h"

namespace kf::emulator {

// Looks at one access (offset from the start of the shared memory of `owner`, a block of the warp's cluster) and
// remembers it.
void race_check(Warp& warp, const Inst& inst, int lane, Block& owner, std::uint64_t offset, std::uint32_t bytes,
                Access access);

// The same for a weak or strong ld or st of a warp to its own block's shared memory: `bytes` (a multiple of 4) at each
// lane's offset.
void race_check_lanes(Warp& warp, const Inst& inst, Mask lanes, const std::uint32_t* offset, std::uint32_t bytes,
                      Access access);

// Of the store that is being resolved (Warp::storing): the byte that a lane writes at an offset of shared memory.
std::byte byte_stored(const Warp& w, int lane, std::uint64_t shared_offset);

// What `warp` did so far is known to whoever joins `clock` later.
void race_publish(Warp& warp, std::vector<std::uint32_t>& clock);
void race_join(Warp& warp, const std::vector<std::uint32_t>& clock);
// A fence, or an access that acquires or releases. Blocks are ordered by a fence before a write, a strong read of what
// was written, and a fence after it. Inside a block it is more generous: two threads that have both fenced, one after
// the other, count as ordered, whatever flag they used. One of scope .cta (`block_only`) does the latter alone.
void race_fence(Warp& warp, bool block_only = false);
// Across blocks, one side each, and acquiring from every release up to a number: barrier.cluster.arrive and wait,
// mbarriers of cluster peers.
void race_release(Warp& warp);
void race_acquire(Warp& warp, std::uint32_t fences);
// Whether what the given warp of another block did at `time` was released before `warp` acquired.
bool race_ordered_across(const Warp& warp, std::uint64_t block, std::uint32_t index, std::uint32_t time);
// Whether griddepcontrol.wait lies behind this warp: its own, or one of a warp that it is ordered after.
bool race_has_waited(const Warp& warp);
// Whether what another lane of the warp did at `time` lies before a bar.warp.sync that both, or a chain of lanes
// between them, have come to.
bool race_ordered_lanes(const Warp& warp, int lane, int earlier, std::uint32_t time);
// bar.warp.sync of these lanes.
void race_warp_sync(Warp& warp, Mask lanes);

}  // namespace kf::emulator
