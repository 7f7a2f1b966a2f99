// SPDX-License-Identifier: Apache-2.0
#include "cuda/timer.h"

#include <algorithm>
#include <atomic>

namespace kf::cuda {
namespace {

// The driver takes about a thousand pending operations before a call waits for room; behind a closed gate it would wait
// for ever. This leaves a wide margin.
constexpr int kMostQueued = 256;
constexpr std::chrono::nanoseconds kGateTimeout = std::chrono::seconds(5);

// What host and device share while a batch is queued.
struct Control {
  std::uint32_t open, timed_out;
  std::uint64_t clock[2][2];  // global nanoseconds and cycles, before and after
};

// Opens the gate when queueing ends, and also when it ends with a fault: the stream must drain.
class GateOpener {
 public:
  explicit GateOpener(Control& control) : control_(control) {}
  ~GateOpener() { open(); }
  GateOpener(const GateOpener&) = delete;
  GateOpener& operator=(const GateOpener&) = delete;
  void open() { std::atomic_ref(control_.open).store(1, std::memory_order_release); }

 private:
  Control& control_;
};

double hertz(const Control& control) {
  const auto nanoseconds = static_cast<double>(control.clock[1][0]) - static_cast<double>(control.clock[0][0]);
  const auto cycles = static_cast<double>(control.clock[1][1]) - static_cast<double>(control.clock[0][1]);
  const bool both = control.clock[0][0] != 0 && control.clock[1][0] != 0;
  return both && nanoseconds > 0.0 && cycles > 0.0 ? 1e9 * cycles / nanoseconds : 0.0;
}

}  // namespace

struct Timer::Group {
  TimedGroup slots;
  int operations = 0;
  GraphExec graph;  // ClockMethod::kGraph: all its operations as one launch
  double nanoseconds = 0.0;
  double sm_hertz = 0.0;
};

OrFault<std::vector<double>> slot_spans(std::span<const QueuedOperation> queued, std::span<const Activity> seen,
                                        int slots) {
  const auto wrong = [](std::string what, std::int32_t slot = -1) {
    return std::unexpected(DeviceFault{DeviceFault::Kind::kLaunchTruth, "CUPTI: " + std::move(what), slot});
  };
  if (queued.size() != seen.size()) {
    return wrong("saw " + std::to_string(seen.size()) + " operations, " + std::to_string(queued.size()) +
                 " were queued");
  }
  struct Span {
    std::uint64_t start = ~0ull, end = 0;
  };
  std::vector<Span> spans(static_cast<std::size_t>(slots));
  for (std::size_t i = 0; i < queued.size(); ++i) {
    const QueuedOperation& wanted = queued[i];
    const Activity& found = seen[i];
    const std::string which = "operation " + std::to_string(i);
    if (found.kind != wanted.kind || (found.kind == Activity::Kind::kKernel && found.name != wanted.kernel)) {
      return wrong(which + " is \"" + found.name + "\", queued was \"" + wanted.kernel + "\"", wanted.slot);
    }
    if (found.kind == Activity::Kind::kKernel && found.grid != wanted.grid) {
      return wrong(which + ", kernel " + found.name + ", ran with another grid than the plan's", wanted.slot);
    }
    if (found.start == 0 || found.end < found.start) {
      return wrong(which + " has no times", wanted.slot);
    }
    if (wanted.slot >= 0) {
      Span& span = spans[static_cast<std::size_t>(wanted.slot)];
      span.start = std::min(span.start, found.start);
      span.end = std::max(span.end, found.end);
    }
  }
  std::vector<double> nanoseconds;
  for (const Span& span : spans) {
    nanoseconds.push_back(span.end == 0 ? 0.0 : static_cast<double>(span.end - span.start));
  }
  return nanoseconds;
}

std::vector<TimedGroup> timed_groups(std::span<const std::int32_t> arms, CacheState state) {
  std::vector<TimedGroup> groups;
  for (std::size_t i = 0; i < arms.size(); ++i) {
    if (state == CacheState::kSteady && i > 0 && arms[i] == arms[i - 1]) {
      ++groups.back().count;
    } else {
      groups.push_back({static_cast<int>(i), 1});
    }
  }
  return groups;
}

Timer::Timer(Gpu& gpu, HarnessKernels& kernels, StreamSet& streams, std::int64_t l2_bytes)
    : gpu_(gpu), kernels_(kernels), streams_(streams) {
  flush_.at = harness::place({2 * std::max<std::int64_t>(l2_bytes, 1 << 20), 0});
  flush_.memory = make_memory(gpu, flush_.at.total);
  kernels_.poison(flush_, 1);
  void* control = nullptr;
  gpu.check(gpu->cuMemHostAlloc(&control, sizeof(Control), CU_MEMHOSTALLOC_DEVICEMAP), "cuMemHostAlloc");
  control_ = Pinned(gpu, control);
  gpu.check(gpu->cuMemHostGetDevicePointer(&control_device_, control, 0), "cuMemHostGetDevicePointer");
  // The kernels of every batch, loaded before any gate is closed.
  for (const char* name : {"kf_gate", "kf_clock", "kf_flush", "kf_fence"}) {
    kernels_.find(name);
  }
}

GraphExec Timer::capture(std::span<TimedSlot> slots) {
  CUgraph captured = nullptr;
  gpu_.check(gpu_->cuStreamBeginCapture(gpu_.stream(), CU_STREAM_CAPTURE_MODE_THREAD_LOCAL), "cuStreamBeginCapture");
  try {
    for (TimedSlot& slot : slots) {
      streams_.enqueue(slot.plan, gpu_.stream());
    }
  } catch (...) {
    gpu_->cuStreamEndCapture(gpu_.stream(), &captured);  // or the stream would stay in capture
    if (captured != nullptr) {
      gpu_->cuGraphDestroy(captured);
    }
    throw;
  }
  gpu_.check(gpu_->cuStreamEndCapture(gpu_.stream(), &captured), "cuStreamEndCapture", Stage::kLaunch);
  const Graph graph(gpu_, captured);
  CUgraphExec executable = nullptr;
  gpu_.check(gpu_->cuGraphInstantiateWithFlags(&executable, graph.get(), 0), "cuGraphInstantiate", Stage::kLaunch);
  GraphExec made(gpu_, executable);
  gpu_.check(gpu_->cuGraphUpload(executable, gpu_.stream()), "cuGraphUpload", Stage::kLaunch);
  return made;
}

std::vector<Timer::Group> Timer::make_groups(std::vector<TimedSlot>& slots, CacheState state, ClockMethod method) {
  std::vector<std::int32_t> arms;
  for (TimedSlot& slot : slots) {
    arms.push_back(slot.arm);
    streams_.grow(slot.plan);
  }
  std::vector<Group> groups;
  for (const TimedGroup& range : timed_groups(arms, state)) {
    Group& group = groups.emplace_back();
    group.slots = range;
    const auto members =
        std::span(slots).subspan(static_cast<std::size_t>(range.first), static_cast<std::size_t>(range.count));
    group.operations = 3;
    for (TimedSlot& slot : members) {
      group.operations += method == ClockMethod::kGraph ? 1 : slot.plan.operations();
      group.operations += state == CacheState::kWarm ? static_cast<int>(slot.tensors.size()) : 0;
    }
    if (method == ClockMethod::kGraph) {
      group.graph = capture(members);
    }
  }
  return groups;
}

void Timer::note(const char* kernel, unsigned blocks) {
  queued_.push_back({-1, Activity::Kind::kKernel, kernel, {static_cast<std::int32_t>(blocks), 1, 1}});
}

void Timer::note_slot(int slot, const PreparedPlan& plan) {
  for (const Range& range : plan.zeroed) {
    if (range.bytes > 0) {
      queued_.push_back({slot, Activity::Kind::kMemset, "", {}});
    }
  }
  for (const PreparedLaunch& launch : plan.launches) {
    if (launch.kind == Launch::Kind::kMemcpy) {
      queued_.push_back({slot, Activity::Kind::kMemcpy, "", {}});
      continue;
    }
    queued_.push_back(
        {slot,
         Activity::Kind::kKernel,
         launch.entry,
         {static_cast<std::int32_t>(launch.config.gridDimX), static_cast<std::int32_t>(launch.config.gridDimY),
          static_cast<std::int32_t>(launch.config.gridDimZ)}});
    if (launch.is_fenced) {
      note("kf_fence", 1);
    }
  }
}

void Timer::prepare_cache(CacheState state, std::span<const Range> tensors) {
  if (state == CacheState::kCold) {
    kernels_.read_sweep(gpu_.stream(), flush_.usable(), flush_.at.bytes);
    note("kf_flush", kernels_.sweep_blocks());
  }
  for (const Range& tensor : state == CacheState::kWarm ? tensors : std::span<const Range>()) {
    kernels_.read_sweep(gpu_.stream(), tensor.address & ~CUdeviceptr{15}, tensor.bytes);
    note("kf_flush", kernels_.sweep_blocks());
  }
}

void Timer::queue_group(std::vector<TimedSlot>& slots, Group& group, CacheState state, CUevent start, CUevent stop) {
  const CUstream stream = gpu_.stream();
  const auto& range = group.slots;
  prepare_cache(state, slots[static_cast<std::size_t>(range.first)].tensors);
  gpu_.check(gpu_->cuEventRecord(start, stream), "cuEventRecord");
  if (group.graph) {
    gpu_.check(gpu_->cuGraphLaunch(group.graph.get(), stream), "cuGraphLaunch", Stage::kLaunch);
  }
  for (int i = range.first; i < range.first + range.count && !group.graph; ++i) {
    streams_.enqueue(slots[static_cast<std::size_t>(i)].plan, stream);
    note_slot(i, slots[static_cast<std::size_t>(i)].plan);
  }
  gpu_.check(gpu_->cuEventRecord(stop, stream), "cuEventRecord");
}

void Timer::run_segment(std::vector<TimedSlot>& slots, std::span<Group> groups, CacheState state,
                        std::chrono::milliseconds launch_deadline) {
  auto& control = *static_cast<Control*>(control_.get());
  control = {};
  gpu_->cuCtxResetPersistingL2Cache();  // before the gate: it may wait for the device
  while (events_.size() < 2 * groups.size()) {
    events_.push_back(make_event(gpu_, true));
  }
  int launches = 0;
  const auto device_address = [&](const void* member) {
    return control_device_ +
           static_cast<CUdeviceptr>(static_cast<const char*>(member) - static_cast<const char*>(control_.get()));
  };
  {
    GateOpener opener(control);
    kernels_.gate(gpu_.stream(), device_address(&control.open), device_address(&control.timed_out),
                  static_cast<std::uint64_t>(kGateTimeout.count()));
    note("kf_gate", 1);
    kernels_.read_clock(gpu_.stream(), device_address(control.clock[0]));
    note("kf_clock", kernels_.clock_blocks());
    for (std::size_t i = 0; i < groups.size(); ++i) {
      queue_group(slots, groups[i], state, events_[2 * i].get(), events_[2 * i + 1].get());
      launches += groups[i].slots.count;
    }
    kernels_.read_clock(gpu_.stream(), device_address(control.clock[1]));
    note("kf_clock", kernels_.clock_blocks());
  }
  gpu_.wait(launches * launch_deadline + std::chrono::milliseconds(2000));
  if (std::atomic_ref(control.timed_out).load(std::memory_order_acquire) != 0) {
    throw Faulted{
        {DeviceFault::Kind::kLost, "the gate let go after 5 s: a call that queues work waited for the device"}};
  }
  for (std::size_t i = 0; i < groups.size(); ++i) {
    float milliseconds = 0.0f;
    gpu_.check(gpu_->cuEventElapsedTime(&milliseconds, events_[2 * i].get(), events_[2 * i + 1].get()),
               "cuEventElapsedTime");
    groups[i].nanoseconds = 1e6 * static_cast<double>(milliseconds);
    groups[i].sm_hertz = hertz(control);
  }
}

std::vector<Sample> Timer::time(std::vector<TimedSlot>& slots, CacheState state, ClockMethod method,
                                std::chrono::milliseconds launch_deadline, ActivityRecorder* recorder) {
  std::vector<Group> groups = make_groups(slots, state, method);
  gpu_.wait(kOwnDeadline);  // uploads; from here on only the batch is on the device
  queued_.clear();
  if (recorder != nullptr) {
    static_cast<void>(recorder->take());  // what came before is nobody's
  }
  for (std::size_t first = 0; first < groups.size();) {
    std::size_t last = first;
    for (int queued = 0; last < groups.size() && (last == first || queued + groups[last].operations <= kMostQueued);
         ++last) {
      queued += groups[last].operations;
    }
    run_segment(slots, std::span(groups).subspan(first, last - first), state, launch_deadline);
    first = last;
  }
  std::vector<double> spans;
  if (recorder != nullptr) {
    const auto seen = recorder->take();
    if (!seen) {
      throw Faulted{{DeviceFault::Kind::kUnsupported, to_string(seen.error())}};
    }
    auto found = slot_spans(queued_, *seen, static_cast<int>(slots.size()));
    if (!found) {
      throw Faulted{found.error()};
    }
    spans = *std::move(found);
  }
  std::vector<Sample> samples;
  for (const Group& group : groups) {
    for (int i = group.slots.first; i < group.slots.first + group.slots.count; ++i) {
      const std::size_t slot = static_cast<std::size_t>(i);
      const double nanoseconds = spans.empty() ? group.nanoseconds / group.slots.count : spans[slot];
      samples.push_back({slots[slot].arm, 0, i, nanoseconds, group.sm_hertz});
    }
  }
  return samples;
}

}  // namespace kf::cuda
