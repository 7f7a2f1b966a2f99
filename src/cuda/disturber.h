// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <chrono>
#include <cstdint>
#include <functional>
#include <optional>

#include "cuda/harness_kernels.h"

namespace kf::cuda {

// Disturbs the device while a plan runs (kf_disturb). One at a time; made once, its scratch memory is large.
class Disturber {
 public:
  Disturber(Gpu& gpu, HarnessKernels& kernels);

  // Of what disturbed a plan, for messages.
  struct Held {
    int multiprocessors = 0, of = 0;
    bool throughout = true;  // false: for the plan's first moments only
  };

  struct Plan {
    bool together = false;  // blocks that the hardware must place at the same time
    int operations = 0;     // of the stream, at most
    std::chrono::milliseconds deadline{0};
  };
  // Holds multiprocessors (all that are to be held are, when it returns), lets `queue` queue the plan on the device's
  // stream, waits for it and lets go. `queue` is given what to do between two launches. Throws what `queue` and the
  // waiting throw; after kTimeout the device is dead and the multiprocessors are let go of too.
  Held during(const Disturbance& disturbance, const Plan& plan,
              const std::function<void(const std::function<void()>& between)>& queue);

 private:
  struct Control;
  Held hold(const Disturbance& disturbance, const Plan& plan);
  CUdeviceptr address_of(const void* member) const;

  Gpu& gpu_;
  HarnessKernels& kernels_;
  int blocks_ = 0;
  Stream stream_;
  Memory scratch_;
  Pinned control_;  // mapped: who is there, when to let go, the gate
  CUdeviceptr control_device_ = 0;
};

// What to say when a plan did not end while `held` kept multiprocessors from it.
std::string held_text(const Disturber::Held& held);

}  // namespace kf::cuda
