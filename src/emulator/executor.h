// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "block.h"

namespace kf::emulator {

// Carries out instructions of one warp until it must wait, has exited, or `quantum` instructions are done.
// Lanes run in groups of equal pc, lowest pc first, so that they meet again where branches join; a group
// that loops while others could run gives way after a while, so that lanes may wait for each other.
// Returns the instructions carried out; 0: every lane waits or has exited.
std::uint64_t run_warp(Warp& warp, std::uint64_t quantum);

// One turn of a random block of the cluster that has not ended. When it cannot go on, every block gets a turn, then
// an asynchronous copy may arrive; when that does not help either, it is a deadlock.
void turn(Cluster& cluster);
// Stores, exits and barriers so far: turns without any look like waiting for others.
std::uint64_t progress_of(const Cluster& cluster);

// All blocks of a launch, dispatched in order, warps and resident blocks in seeded random order.
// Throws Stop for findings, deadlock and an exhausted step budget.
void run_grid(Launch& launch);

}  // namespace kf::emulator
