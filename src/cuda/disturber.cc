// SPDX-License-Identifier: Apache-2.0
#include "cuda/disturber.h"

#include <algorithm>
#include <atomic>
#include <thread>

#include <kfactory/seed.h>

namespace kf::cuda {
namespace {

// Behind a closed gate the driver takes about a thousand operations before it waits for room.
constexpr int kMostQueued = 256;
constexpr int kMostBlocks = 1024;  // multiprocessors
constexpr std::int64_t kScratchBytes = 64LL << 20;
// A grid that may need every multiprocessor at once must get them soon.
constexpr std::chrono::nanoseconds kMoments = std::chrono::milliseconds(1);
constexpr std::chrono::nanoseconds kGateTimeout = std::chrono::seconds(5);
constexpr std::chrono::microseconds kLongestPause{200};

}  // namespace

struct Disturber::Control {
  std::uint32_t release, gate_open, gate_timed_out, unused;
  std::uint32_t states[kMostBlocks];
};

namespace {

// Sets a word that a kernel waits for, also when the way there ends with a fault.
class Setter {
 public:
  explicit Setter(std::uint32_t& word) : word_(word) {}
  ~Setter() { set(); }
  Setter(const Setter&) = delete;
  Setter& operator=(const Setter&) = delete;
  void set() { std::atomic_ref(word_).store(1, std::memory_order_release); }

 private:
  std::uint32_t& word_;
};

// Waits for a stream on every way out: the control words must not be used again before kf_disturb has seen them.
class WaitsAtEnd {
 public:
  WaitsAtEnd(Gpu& gpu, CUstream stream) : gpu_(gpu), stream_(stream) {}
  ~WaitsAtEnd() {
    if (gpu_.dead()) {
      return;
    }
    try {
      gpu_.wait(stream_, kOwnDeadline);
    } catch (const Faulted&) {
      gpu_.mark_dead();  // and what is under way tells why
    }
  }
  WaitsAtEnd(const WaitsAtEnd&) = delete;
  WaitsAtEnd& operator=(const WaitsAtEnd&) = delete;

 private:
  Gpu& gpu_;
  CUstream stream_;
};

}  // namespace

Disturber::Disturber(Gpu& gpu, HarnessKernels& kernels)
    : gpu_(gpu),
      kernels_(kernels),
      blocks_(std::min(static_cast<int>(kernels.clock_blocks()), kMostBlocks)),
      stream_(make_stream(gpu)),
      scratch_(make_memory(gpu, kScratchBytes)) {
  void* control = nullptr;
  gpu.check(gpu->cuMemHostAlloc(&control, sizeof(Control), CU_MEMHOSTALLOC_DEVICEMAP), "cuMemHostAlloc");
  control_ = Pinned(gpu, control);
  gpu.check(gpu->cuMemHostGetDevicePointer(&control_device_, control, 0), "cuMemHostGetDevicePointer");
  // Nothing may be loaded while multiprocessors are held: loading may wait for the device.
  for (const char* name : {"kf_disturb", "kf_gate", "kf_fence"}) {
    kernels_.find(name);
  }
}

CUdeviceptr Disturber::address_of(const void* member) const {
  return control_device_ +
         static_cast<CUdeviceptr>(static_cast<const char*>(member) - static_cast<const char*>(control_.get()));
}

Disturber::Held Disturber::hold(const Disturbance& disturbance, const Plan& plan) {
  auto& control = *static_cast<Control*>(control_.get());
  HarnessKernels::DisturbArgs with;
  with.release = address_of(&control.release);
  with.states = address_of(control.states);
  with.seed = disturbance.seed;
  with.held_share = disturbance.held_share;
  // It lets go by itself some time after the plan's own limit, whatever becomes of this process.
  with.longest_nanoseconds = static_cast<std::uint64_t>(
      (plan.together ? kMoments : std::chrono::nanoseconds(plan.deadline + std::chrono::seconds(2))).count());
  with.staggered = plan.together;
  with.scratch = scratch_.get();
  with.scratch_bytes = kScratchBytes;
  kernels_.disturb(stream_.get(), with);
  const auto start = std::chrono::steady_clock::now();
  Held held{0, blocks_, !plan.together};
  for (int block = 0; block < blocks_; ++block) {
    std::atomic_ref state(control.states[block]);
    std::uint32_t seen = 0;
    while ((seen = state.load(std::memory_order_acquire)) == 0) {
      if (std::chrono::steady_clock::now() - start > kOwnDeadline) {
        throw Faulted{{DeviceFault::Kind::kLost,
                       "our own work did not get onto all multiprocessors of an idle device: is other work running on "
                       "it? Look with nvidia-smi"}};
      }
    }
    held.multiprocessors += seen == 2 ? 1 : 0;
  }
  return held;
}

Disturber::Held Disturber::during(const Disturbance& disturbance, const Plan& plan,
                                  const std::function<void(const std::function<void()>& between)>& queue) {
  auto& control = *static_cast<Control*>(control_.get());
  control = {};
  std::uint64_t random = disturbance.seed;
  const bool all_at_once = disturbance.pauses && plan.operations <= kMostQueued && splitmix64(random) % 2 == 0;
  const auto pause = [&] {
    std::this_thread::sleep_for(
        std::chrono::microseconds(splitmix64(random) % static_cast<std::uint64_t>(kLongestPause.count())));
  };
  Held held;
  const WaitsAtEnd wait_at_end(gpu_, stream_.get());
  try {
    Setter release(control.release);
    Setter open(control.gate_open);
    if (disturbance.held_share > 0) {
      held = as_ours([&] { return hold(disturbance, plan); });
      if (held.multiprocessors == held.of) {
        release.set();  // nothing is left for the plan
      }
    }
    if (all_at_once) {
      as_ours([&] {
        kernels_.gate(gpu_.stream(), address_of(&control.gate_open), address_of(&control.gate_timed_out),
                      static_cast<std::uint64_t>(kGateTimeout.count()));
      });
    }
    queue(disturbance.pauses && !all_at_once ? std::function<void()>(pause) : std::function<void()>([] {}));
    open.set();
    gpu_.wait(plan.deadline);
  } catch (Faulted& faulted) {
    if (faulted.fault.kind == DeviceFault::Kind::kTimeout && held.multiprocessors > 0) {
      faulted.fault.detail += held_text(held);
    }
    throw;
  }
  as_ours([&] { gpu_.wait(stream_.get(), kOwnDeadline); });
  return held;
}

std::string held_text(const Disturber::Held& held) {
  return ", while " + std::to_string(held.multiprocessors) + " of " + std::to_string(held.of) +
         " multiprocessors were held by other work" + (held.throughout ? "" : " for the first moments");
}

}  // namespace kf::cuda
