// SPDX-License-Identifier: Apache-2.0
// The state that handlers see: a warp, its block, its launch.
#pragma once
#include <array>
#include <bit>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include <kfactory/device.h>

#include "delayed.h"
#include "program.h"

namespace kf::emulator {

struct Block;
struct Launch;
struct Undefined;

// Ends a launch from inside a handler; caught where the launch began and returned as a value.
struct Stop {
  DeviceFault fault;
};

// Numbers of fences, behind a clock's times: what has been acquired from; the last one that this warp, or one that it
// has met at a barrier, carried out; what flags that were read had been released by, which a fence acquires from. 1
// when griddepcontrol.wait has been executed by it or by one that it has met. Launch::strong_writes at the last fence
// of either.
enum class FenceKnowledge : std::uint8_t { kAcquired, kReleased, kSeen, kWaited, kNewest };
inline constexpr std::size_t kFenceKnowledge = 5;

// Why a lane does not run.
enum class Wait : std::uint8_t { kNone, kWarpSync, kBarrier, kClusterBarrier, kExited };

// A bar.warp.sync of some lanes of a warp, at the warp's time.
struct LaneSync {
  std::uint32_t time = 0;
  Mask lanes = 0;
};

// A store that is being resolved: what each lane will write where.
struct Storing {
  const Inst* inst = nullptr;
  const std::uint64_t* at = nullptr;  // of each lane
  std::uint32_t began = 0;            // Block::events of the block when it began
};

// A call that a lane has not returned from.
struct CallFrame {
  static constexpr std::uint32_t kPlain = 0xffff'ffffu;
  std::uint32_t return_pc = 0;
  std::uint32_t callee = kPlain, call = 0;  // Program::callables and pc of the call; kPlain: nothing to bring back
  std::uint32_t stack_used = 0;             // before the call
  std::vector<std::uint8_t> kept;           // what the function's places held before, see calls.h
};

struct alignas(64) Warp {
  std::uint8_t* regs = nullptr;
  Mask* preds = nullptr;
  Mask carry = 0;
  Mask exited = 0;   // lanes that never existed are exited too
  Mask waiting = 0;  // lanes with wait[l] in kWarpSync .. kClusterBarrier
  std::array<std::uint32_t, kLanes> pc{};
  std::array<Wait, kLanes> wait{};
  std::array<std::uint8_t, kLanes> barrier{};      // which barrier a kBarrier lane waits at
  std::array<Mask, kLanes> sync_mask{};            // membermask that a kWarpSync lane waits with
  std::vector<std::vector<CallFrame>> calls;       // of each lane
  std::array<std::uint32_t, kLanes> stack_used{};  // bytes of each lane's stack
  Block* block = nullptr;
  Launch* launch = nullptr;
  const Region* last_region = nullptr;  // the global region of the last access
  std::byte* local = nullptr;           // Program::local_bytes of each lane, lane after lane
  std::uint8_t* local_written = nullptr;
  std::uint32_t index = 0;                            // in the block
  std::uint32_t now = 0;                              // pc of the instruction being carried out
  std::uint64_t rotate = 0;                           // back edges taken while other lanes wait
  std::array<std::uint64_t, kLanes> cluster_phase{};  // Cluster::phase when the lane arrived, plus 1; 0: has not
  std::array<std::uint32_t, kLanes> copy_group{};     // the lane's open cp.async group, counted from 0
  std::array<std::uint32_t, kLanes> bulk_group{};     // ... and its open bulk group
  std::array<std::uint32_t, kLanes> proxy_fence{};    // Block::events at the lane's last fence.proxy.async
  const Storing* storing = nullptr;                   // the race checker asks whether a write changes anything
  // Values from memory that nothing has written, see undefined.h.
  bool has_undefined = false;
  bool may_be_unwritten = false;  // the access being resolved may read such bytes; they are noted, not reported
  Mask unwritten_lanes = 0;
  std::array<const std::uint8_t*, kLanes> unwritten{};  // flags of the lane's bytes
  std::unique_ptr<Undefined> undefined;
  std::vector<DelayedWrite> delayed;                       // see delayed.h
  std::uint32_t register_limit = 0, register_changes = 0;  // setmaxnreg: the last one (0: none yet), how many
  std::uint32_t block_writes_seen = 0;                     // Launch::strong_writes at the last barrier
  std::uint32_t unset_draws = 0;                           // functions begun that have unset registers, see unset.h
  std::vector<std::uint64_t> places_read;                  // since the last fence, by strong loads that had a choice
  bool settling = false, settling_met = false;             // one of them is being carried out; DelayedWrite::met
  bool parked = false;                                     // nothing to run until another warp acts
  // Race checker: what this warp knows of each warp's time; then a word for each FenceKnowledge.
  std::vector<std::uint32_t> clock;
  std::array<std::uint32_t, kLanes> lane_sync{};  // ... and the warp's time at each lane's last bar.warp.sync,
  std::uint32_t whole_sync = 0;                   // at the last one of all lanes that run,
  std::vector<LaneSync> part_syncs;               // and those of fewer since then, oldest first

  Warp();
  ~Warp();
  Warp(Warp&&) noexcept;

  std::uint32_t& fence(FenceKnowledge which) {
    return clock[clock.size() - kFenceKnowledge + static_cast<std::size_t>(which)];
  }
  std::uint32_t fence(FenceKnowledge which) const {
    return clock[clock.size() - kFenceKnowledge + static_cast<std::size_t>(which)];
  }
  template <class T>
  T* reg(Slot slot) const {
    return reinterpret_cast<T*>(regs + slot);
  }
};

// Calls f(lane) for each lane; the full mask is a plain loop that the compiler turns into vectors. Lanes
// never depend on each other, so in-place operations are fine.
template <class F>
inline void each_lane(Mask lanes, F&& f) {
  if (lanes == kAllLanes) {
#ifndef __clang__
#pragma GCC ivdep
#endif
    for (int lane = 0; lane < kLanes; ++lane) f(lane);
  } else {
    for (; lanes != 0; lanes &= lanes - 1) f(std::countr_zero(lanes));
  }
}

// What looked and found something: Finding::kind.
enum class Checker : std::uint8_t {
  kMisuse,  // an instruction used against its own rules
  kOutOfBounds,
  kMisaligned,
  kUninitialised,
  kReadOnly,
  kRace,
  kAsyncCopy,
  kBarrier,
  kDeadlock,
  kMask,
  kCluster,
  kDependency,
  kBudget,
  kUnsupported,
  kInput,  // a write to an input of the launch
};
struct Found {
  Checker checker = Checker::kMisuse;
  std::string what;
  std::vector<SourcePlace> others{};  // places that belong to it, with their roles
};
// Ends the launch with a finding: names kernel, source line, block, thread. The fault is kTimeout for kBudget,
// kUnsupported for kUnsupported, else kChecker.
[[noreturn]] void report(const Warp& warp, const Inst& inst, int lane, Found found);
[[noreturn]] inline void report(const Warp& warp, const Inst& inst, int lane, const std::string& what) {
  report(warp, inst, lane, Found{Checker::kMisuse, what});
}
SourcePlace source_place(const Launch& launch, std::uint32_t source, std::string role);
std::string describe_source(const Launch& launch, const Inst& inst);
std::string describe_thread(const Warp& warp, int lane);

}  // namespace kf::emulator
