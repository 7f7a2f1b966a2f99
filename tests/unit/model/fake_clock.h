// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <chrono>
#include <functional>
#include <mutex>
#include <stop_token>
#include <string>
#include <vector>

#include <kfactory/clock.h>

namespace kf::test {

// Turned by hand: `sleep` returns at once and moves time. What slept how long is kept.
class FakeClock : public Clock {
 public:
  std::chrono::steady_clock::time_point now() const override {
    const std::lock_guard lock(mutex_);
    return now_;
  }
  std::string utc() const override { return utc_; }
  bool sleep(std::chrono::milliseconds time, std::stop_token stop) override {
    if (stop.stop_requested()) {
      return false;
    }
    {
      const std::lock_guard lock(mutex_);
      now_ += time;
      sleeps_.push_back(time);
    }
    if (during_sleep) {
      during_sleep();
    }
    return !stop.stop_requested();
  }
  void advance(std::chrono::milliseconds time) {
    const std::lock_guard lock(mutex_);
    now_ += time;
  }
  std::vector<std::chrono::milliseconds> sleeps() const {
    const std::lock_guard lock(mutex_);
    return sleeps_;
  }

  std::function<void()> during_sleep;
  std::string utc_ = "2026-11-30T12:38:35Z";

 private:
  mutable std::mutex mutex_;
  std::chrono::steady_clock::time_point now_{std::chrono::hours(1)};
  std::vector<std::chrono::milliseconds> sleeps_;
};

}  // namespace kf::test
