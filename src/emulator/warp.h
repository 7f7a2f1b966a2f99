// SPDX-License-Identifier: Apache-2.0
// The state that handlers see: a warp, its block, its launch.
#pragma once
#include <array>
#include <bit>
#include <cstdint>
#include <string>
#include <vector>

#include <kfactory/device.h>

#include "program.h"

namespace kf::emulator {

struct Block;
struct Launch;

// Ends a launch from inside a handler; caught where the launch began and returned as a value.
struct Stop {
  DeviceFault fault;
};

// Numbers of fences, behind a clock's times: what has been acquired from; the last one that this warp, or one that it
// has met at a barrier, carried out; what flags that were read had been released by, which a fence acquires from.
enum class FenceKnowledge : std::uint8_t { kAcquired, kReleased, kSeen };
inline constexpr std::size_t kFenceKnowledge = 3;

// Why a lane does not run.
enum class Wait : std::uint8_t { kNone, kWarpSync, kBarrier, kClusterBarrier, kExited };

struct alignas(64) Warp {
  std::uint8_t* regs = nullptr;
  Mask* preds = nullptr;
  Mask carry = 0;
  Mask exited = 0;   // lanes that never existed are exited too
  Mask waiting = 0;  // lanes with wait[l] in kWarpSync .. kClusterBarrier
  std::array<std::uint32_t, kLanes> pc{};
  std::array<Wait, kLanes> wait{};
  std::array<std::uint8_t, kLanes> barrier{};     // which barrier a kBarrier lane waits at
  std::array<Mask, kLanes> sync_mask{};           // membermask that a kWarpSync lane waits with
  std::vector<std::vector<std::uint32_t>> calls;  // return addresses of each lane
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
  bool parked = false;                                // nothing to run until another warp acts
  // Race checker: what this warp knows of each warp's time; then a word for each FenceKnowledge.
  std::vector<std::uint32_t> clock;
  std::array<std::uint32_t, kLanes> lane_sync{};  // ... and the warp's time at each lane's last bar.warp.sync

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

// Ends the launch with a finding: names kernel, source line, block, thread.
[[noreturn]] void report(const Warp& warp, const Inst& inst, int lane, const std::string& what,
                         DeviceFault::Kind kind = DeviceFault::Kind::kChecker);
std::string describe_source(const Launch& launch, const Inst& inst);
std::string describe_thread(const Warp& warp, int lane);

}  // namespace kf::emulator
