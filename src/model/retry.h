// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <mutex>
#include <optional>
#include <stop_token>
#include <string_view>

#include <kfactory/clock.h>

#include "http.h"

namespace kf {

// How long a server asks to wait: retry-after-ms, else retry-after as seconds (fractions too) or an HTTP date,
// which `utc_now` ("2026-11-30T12:38:35Z") turns into a time to go. nullopt: not asked, zero, past or unreadable.
std::optional<std::chrono::milliseconds> asked_wait(const HttpHead& head, std::string_view utc_now);

// Seconds since 1970 of "Mon, 30 Nov 2026 12:38:35 GMT" and of "2026-11-30T12:38:35Z".
std::optional<std::int64_t> seconds_from_http_date(std::string_view text);
std::optional<std::int64_t> seconds_from_utc(std::string_view text);

// Of retry number `retry` (from 1). What the server asks for is a minimum, to which up to a quarter, and
// at most 10 s, is added;
// our own doubling delay has up to a quarter taken off. `draw` is uniform in [0, 1).
std::chrono::milliseconds retry_delay(int retry, std::optional<std::chrono::milliseconds> asked,
                                      const RetrySettings& settings, double draw);

// Shared by all that ask one endpoint: a 429 seen by one holds all back. Thread-safe.
class Limiter {
 public:
  // Nobody asks before this time.
  void hold_until(std::chrono::steady_clock::time_point time);
  // How long to wait from now on; zero: go.
  std::chrono::milliseconds wait_from(std::chrono::steady_clock::time_point now) const;

 private:
  mutable std::mutex mutex_;
  std::chrono::steady_clock::time_point until_{};
};

}  // namespace kf
