// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <chrono>
#include <stop_token>
#include <string>

namespace kf {

// The only way to read time or to wait: tests turn it by hand.
struct Clock {
  virtual ~Clock() = default;
  virtual std::chrono::steady_clock::time_point now() const = 0;
  virtual std::string utc() const = 0;  // "2026-11-30T12:38:35Z"
  // False when stopped before the time was over.
  virtual bool sleep(std::chrono::milliseconds time, std::stop_token stop) = 0;
};

}  // namespace kf
