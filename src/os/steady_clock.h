// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <kfactory/clock.h>

namespace kf {

// The machine's own clock. Thread-safe.
class SteadyClock final : public Clock {
 public:
  std::chrono::steady_clock::time_point now() const override;
  std::string utc() const override;
  bool sleep(std::chrono::milliseconds time, std::stop_token stop) override;
};

}  // namespace kf
