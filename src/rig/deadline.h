// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <chrono>
#include <optional>

namespace kf {

// A point in time that moves on while somebody waits for another process' turn to end. Pure: times are handed in.
class Deadline {
 public:
  using Time = std::chrono::steady_clock::time_point;
  explicit Deadline(Time end) : end_(end) {}

  // From now on it waits, or goes on. Saying the same twice changes nothing.
  void wait(bool waits, Time now) {
    if (!waits && since_) {
      end_ += now - *since_;
      since_.reset();
    } else if (waits && !since_) {
      since_ = now;
    }
  }
  bool waits() const { return since_.has_value(); }
  Time end(Time now) const { return since_ ? end_ + (now - *since_) : end_; }
  bool over(Time now) const { return now >= end(now); }

 private:
  Time end_;
  std::optional<Time> since_;
};

}  // namespace kf
