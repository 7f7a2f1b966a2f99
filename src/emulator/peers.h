// SPDX-License-Identifier: Apache-2.0
// How long the shared memory of a cluster's blocks is there: from when a block has started to when its last thread
// exits. All blocks of a cluster run at the same time, but nothing says that one has begun when another has. So an
// access to a peer's shared memory must be ordered behind something that the peer has done, and before the exit of some
// thread of it. Launches whose races are not checked know no order; of them only what has happened is told.
#pragma once
#include "access.h"
#include "block.h"

namespace kf::emulator {

// Before an access to the shared memory, or an mbarrier, of another block of the cluster: it must have started and
// not have exited. `what` says what is done: "reads 4 bytes of shared memory". Asynchronous copies (Inst::is_bulk) are
// over when they have completed, see peer_completes.
void peer_access(Warp& warp, const Inst& inst, int lane, Block& owner, const std::string& what);
// A thread of `block` has seen what another block did at `time`; so it is still there.
void peer_seen(Block& block, std::uint32_t rank, std::uint32_t warp, std::uint32_t time);
// An asynchronous copy of `issuer`, whose warp had this clock, is complete at an mbarrier of `block`: what came before
// it there is over as well.
void peer_completes(Block& block, const Block& issuer, const std::vector<std::uint32_t>& clock);
// barrier.cluster is complete: it has waited for threads that exited as well.
void peers_met(Cluster& cluster);
// The last thread of a block, a lane of `warp`, exits at `inst`.
void peer_exits(Warp& warp, const Inst& inst, int lane);

}  // namespace kf::emulator
