// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <chrono>
#include <functional>
#include <stop_token>

#include "os/descriptor.h"

namespace kf {

// Becomes readable once a stop is requested, so that poll(2) can wait for a stop and for descriptors together.
class StopDescriptor {
 public:
  explicit StopDescriptor(std::stop_token stop);
  int get() const { return event_.get(); }

 private:
  Descriptor event_;
  std::stop_callback<std::function<void()>> callback_;
};

enum class Ready { kReadable, kTimeout, kStopped };
// Waits until `fd` can be read (or is at its end), the time is over, or a stop is requested. A negative time waits
// without limit.
Ready wait_readable(int fd, std::chrono::milliseconds time, const std::stop_token& stop);

}  // namespace kf
