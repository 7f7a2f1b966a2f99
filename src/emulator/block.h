// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <array>
#include <cstdint>
#include <map>
#include <memory>
#include <unordered_map>
#include <vector>

#include <kfactory/seed.h>

#include "async_copy.h"
#include "global_race.h"
#include "memory.h"
#include "overlay.h"
#include "program.h"
#include "read_only.h"
#include "touched.h"
#include "warp.h"

namespace kf::emulator {

// One of a block's sixteen barriers.
struct Barrier {
  std::uint32_t arrived = 0;     // threads, bar.arrive included
  std::uint32_t expected = 0;    // 0: all threads that have not exited
  bool counted = false;          // `expected` was given
  std::uint32_t vote_count = 0;  // barrier.red
  bool vote_and = true, vote_or = false;
  std::vector<std::uint32_t> clock;  // race checker: joined clocks of those that came
};

inline constexpr std::uint8_t kStrongTouch = 0x10;
// Who touched a word of shared memory last; see race.h.
struct Touch {
  std::uint32_t time = 0;   // 0: nobody
  std::uint32_t event = 0;  // Block::events
  std::uint32_t source = 0;
  std::uint8_t warp = 0, lane = 0, rank = 0;  // rank: of its block in the cluster
  std::uint8_t bytes = 0;                     // a mask of the word's four, kStrongTouch
};
struct WordHistory {
  Touch write, read, other_read, other_lane;  // of another warp, of another lane, than `read`
};

// A phase-counting barrier object in shared memory; the 8 bytes in memory are opaque to device code.
struct MBarrier {
  std::int64_t expected = 0, pending = 0;  // arrivals a phase, arrivals still missing in this one
  std::int64_t tx = 0;                     // bytes promised and not yet delivered
  std::uint64_t phase = 0;                 // completed phases
  bool from_peers = false;                 // another block of the cluster has had to do with it
  std::vector<std::uint32_t> clock;        // race checker
};

// The last access of a peer's warp to a block's shared memory that nobody in the block is known to have waited for.
struct PeerVisit {
  std::uint32_t time = 0, source = 0;  // time: of the warp; 0: none
  std::uint8_t lane = 0;
};

struct Block;
struct Cluster {
  std::vector<std::unique_ptr<Block>> blocks;
  // State of its own schedule's generator: what happens inside a cluster depends on its number and the launch's seed
  // only, not on which clusters ran before or which thread carries it out.
  std::uint64_t random = 0;
  std::uint32_t threads = 0, exited = 0, arrived = 0;  // of barrier.cluster
  std::uint64_t phase = 0;
  std::uint32_t phase_fences = 0;  // Launch::fences when the last phase was complete
  bool done() const;
  std::uint64_t draw();
};

struct Block {
  std::array<std::uint32_t, 3> ctaid{};
  std::uint64_t linear = 0;
  Launch* launch = nullptr;
  std::vector<Warp> warps;
  std::uint32_t threads = 0, exited = 0;
  std::uint32_t warps_done = 0;
  Cluster* cluster = nullptr;
  std::vector<std::uint32_t> fence_clock;                    // race checker: what threads that have fenced knew
  std::vector<std::uint32_t> cluster_clock;                  // race checker: of threads that came to barrier.cluster
  std::vector<std::uint32_t> phase_clock;                    // ... when its last phase was complete
  std::uint32_t rank = 0;                                    // in the cluster
  std::uint32_t first_release = 0;                           // number of its first fence that others can see; 0: none
  std::vector<PeerVisit> visits;                             // by rank, then warp; empty: none, see peers.h
  std::map<std::uint32_t, MBarrier> mbarriers;               // by offset in shared memory
  std::vector<AsyncCopy> copies;                             // issued by this block's threads and not complete
  std::vector<std::vector<std::uint32_t>> register_changes;  // pcs of setmaxnreg, by warpgroup
  bool triggered = false;                                    // ... griddepcontrol.launch_dependents
  std::uint64_t events = 0;                                  // shared-memory accesses so far, to order proxy fences
  std::uint32_t met_writes = 0;                              // DelayedWrite::met of all warps
  bool done() const { return warps_done == warps.size(); }
  std::vector<std::byte> shared;  // offset 0 is shared address kSharedBase
  std::vector<std::uint8_t> shared_written;
  std::vector<WordHistory> shared_history;  // one for each 4 bytes
  std::array<Barrier, 16> barriers{};
  std::vector<std::uint8_t> registers;  // of all warps
  std::vector<Mask> predicates;
  std::vector<std::byte> local;
  std::vector<std::uint8_t> local_written;
  std::uint64_t progress = 0;  // stores, exits and barriers: turns without any look like waiting for others
};

inline bool Cluster::done() const {
  for (const auto& block : blocks)
    if (!block->done()) return false;
  return true;
}

class PlanTouches;

struct LaunchShape {
  std::array<std::uint32_t, 3> grid{1, 1, 1}, block{1, 1, 1}, cluster{1, 1, 1};
  std::uint32_t dynamic_shared = 0;
  bool cooperative = false;
};

// What one launch did, for estimates.
struct LaunchCounters {
  std::uint64_t warp_instructions = 0, lane_instructions = 0;
  std::uint64_t global_load_sectors = 0, global_store_sectors = 0;  // of 32 bytes, per warp request
  std::uint64_t ideal_load_sectors = 0, ideal_store_sectors = 0;
  std::uint64_t global_requests = 0, shared_requests = 0, shared_wavefronts = 0, ideal_wavefronts = 0;
  std::uint64_t barriers = 0, atomics = 0;
  std::uint64_t tensor_flops = 0;
  std::vector<std::uint64_t> executed;  // warp instructions by pc; when the launch profiles
  LaunchCounters& operator+=(const LaunchCounters& more);
};

// Everything that a warp did up to its time `epoch` was released by the launch's fence number `fence`.
struct Release {
  std::uint32_t epoch = 0, fence = 0;
};

// What a launch is; does not change while it is carried out.
struct LaunchSetup {
  const Program* program = nullptr;
  const Kernel* kernel = nullptr;
  GlobalMemory* memory = nullptr;
  LaunchShape shape;
  std::vector<std::byte> params;
  std::uint64_t seed = 0;
  std::uint64_t step_budget = 0;  // lane-instructions that the launch may use
  int sm_count = 1;
  std::uint64_t resident_limit = 132;  // blocks that the target runs at once
  bool profile = false;                // fill the traffic counters
  bool check_races = true;
  PlanTouches* touches = nullptr;  // of a plan whose launches may run at the same time
  std::uint64_t grid_workspace_address = 0;
  std::size_t first_window = 4;    // clusters that share the processor while nobody waits for more
  std::uint64_t quantum = 10'000;  // instructions before a warp is made to pause
};

// A launch being carried out by one thread: all of it, or those clusters that fell to the thread.
struct Launch : LaunchSetup {
  Overlay* overlay = nullptr;  // several threads carry it out, and this is how one of them sees global memory
  std::uint64_t random = 0;    // state of the generator that chooses among resident clusters
  LaunchCounters counters;
  TouchedSectors touched;                                                         // filled when it profiles
  GlobalWrites writes;                                                            // race checker
  std::uint32_t fences = 0;                                                       // carried out so far
  std::unordered_map<std::uint64_t, std::vector<std::vector<Release>>> releases;  // by block, then warp
  std::uint32_t proxy_fences = 0;                                 // fence.proxy.async carried out so far
  std::unordered_map<std::uint64_t, std::uint32_t> proxy_fenced;  // by block: the last one
  std::uint32_t waited_release = 0;    // first fence of a warp behind griddepcontrol.wait; 0: none yet
  bool waited = false;                 // a thread has executed griddepcontrol.wait ...
  bool waited_before_trigger = false;  // ... in a block that had not yet triggered
  ReadOnlyBytes read_only;             // race checker
  OldValues old_values;                // see delayed.h
  std::uint32_t strong_writes = 0;
  std::vector<std::byte> grid_workspace;  // what %envreg1/2 point to in a cooperative launch

  std::uint64_t draw();
};

inline std::uint64_t Cluster::draw() {
  return splitmix64(random);
}
inline std::uint64_t Launch::draw() {
  return splitmix64(random);
}

}  // namespace kf::emulator
