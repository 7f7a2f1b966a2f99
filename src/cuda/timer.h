// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "cuda/cupti.h"
#include "cuda/harness_kernels.h"
#include "cuda/launcher.h"

namespace kf::cuda {

// One slot of a batch, ready to queue.
struct TimedSlot {
  std::int32_t arm = 0;
  PreparedPlan plan;
  std::vector<Range> tensors;  // read before a warm launch
};

// An operation that a batch queued, as CUPTI must have seen it. slot -1: one of ours around the slots.
struct QueuedOperation {
  int slot = -1;
  Activity::Kind kind = Activity::Kind::kKernel;
  std::string kernel;
  std::array<std::int32_t, 3> grid{};
};

// Nanoseconds from the first start to the last end of each slot's operations. Refuses records that are not, one for one
// and in order, what was queued (kLaunchTruth). Pure.
OrFault<std::vector<double>> slot_spans(std::span<const QueuedOperation> queued, std::span<const Activity> seen,
                                        int slots);

// Consecutive slots that one event pair surrounds: one slot, or in the steady state all that share an arm.
struct TimedGroup {
  int first = 0, count = 1;
};
std::vector<TimedGroup> timed_groups(std::span<const std::int32_t> arms, CacheState state);

// Times batches: gate; clock; for each group {prepare the cache; event; operations; event}; clock; open the gate.
class Timer {
 public:
  Timer(Gpu& gpu, HarnessKernels& kernels, StreamSet& streams, std::int64_t l2_bytes);

  // Queues what a slot's launch finds in the caches: for `state` cold a sweep over twice the L2, for warm over
  // `tensors`.
  void prepare_cache(CacheState state, std::span<const Range> tensors);
  // `recorder`: for ClockMethod::kCupti, whose samples are CUPTI's; otherwise null. Throws Faulted.
  std::vector<Sample> time(std::vector<TimedSlot>& slots, CacheState state, ClockMethod method,
                           std::chrono::milliseconds launch_deadline, ActivityRecorder* recorder);

 private:
  struct Group;
  std::vector<Group> make_groups(std::vector<TimedSlot>& slots, CacheState state, ClockMethod method);
  GraphExec capture(std::span<TimedSlot> slots);
  void queue_group(std::vector<TimedSlot>& slots, Group& group, CacheState state, CUevent start, CUevent stop);
  // Queues groups behind one closed gate, opens it and waits.
  void run_segment(std::vector<TimedSlot>& slots, std::span<Group> groups, CacheState state,
                   std::chrono::milliseconds launch_deadline);
  void note(const char* kernel, unsigned blocks);
  void note_slot(int slot, const PreparedPlan& plan);

  Gpu& gpu_;
  HarnessKernels& kernels_;
  StreamSet& streams_;
  Buffer flush_;    // twice the L2
  Pinned control_;  // mapped: gate, its time-out mark, two clock readings
  CUdeviceptr control_device_ = 0;
  std::vector<Event> events_;  // two for each group of a segment
  std::vector<QueuedOperation> queued_;
};

}  // namespace kf::cuda
