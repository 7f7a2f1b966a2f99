// SPDX-License-Identifier: Apache-2.0
#include "os/stop_descriptor.h"

#include <poll.h>
#include <sys/eventfd.h>

#include <algorithm>
#include <cerrno>
#include <cstdint>
#include <utility>

namespace kf {
namespace {

Descriptor make_event() {
  Descriptor event(::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK));
  if (!event) {
    throw Fatal(to_string(system_error("eventfd")));
  }
  return event;
}

}  // namespace

StopDescriptor::StopDescriptor(std::stop_token stop)
    : event_(make_event()), callback_(std::move(stop), [fd = event_.get()] {
        (void)write_all(fd, std::as_bytes(std::span("\1\0\0\0\0\0\0", 8)));
      }) {}

Ready wait_readable(int fd, std::chrono::milliseconds time, const std::stop_token& stop) {
  const StopDescriptor stopped(stop);
  const auto end = std::chrono::steady_clock::now() + time;
  for (;;) {
    const auto left = std::chrono::ceil<std::chrono::milliseconds>(end - std::chrono::steady_clock::now());
    const bool forever = time.count() < 0;
    pollfd both[2] = {{fd, POLLIN, 0}, {stopped.get(), POLLIN, 0}};
    const int ready =
        ::poll(both, 2, forever ? -1 : static_cast<int>(std::clamp<std::int64_t>(left.count(), 0, 1'000'000'000)));
    if (ready < 0 && errno != EINTR) {
      throw Fatal(to_string(system_error("poll")));
    }
    if (ready > 0) {
      return both[0].revents != 0 ? Ready::kReadable : Ready::kStopped;
    }
    if (ready == 0 && !forever && std::chrono::steady_clock::now() >= end) {
      return Ready::kTimeout;
    }
  }
}

}  // namespace kf
