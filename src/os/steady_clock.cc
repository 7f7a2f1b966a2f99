// SPDX-License-Identifier: Apache-2.0
#include "os/steady_clock.h"

#include <condition_variable>
#include <ctime>
#include <mutex>
#include <utility>

namespace kf {

std::chrono::steady_clock::time_point SteadyClock::now() const {
  return std::chrono::steady_clock::now();
}

std::string SteadyClock::utc() const {
  const std::time_t seconds = std::chrono::system_clock::to_time_t(std::chrono::system_clock::now());
  std::tm parts{};
  ::gmtime_r(&seconds, &parts);
  char text[32];
  std::strftime(text, sizeof text, "%Y-%m-%dT%H:%M:%SZ", &parts);
  return text;
}

bool SteadyClock::sleep(std::chrono::milliseconds time, std::stop_token stop) {
  std::mutex mutex;
  std::condition_variable_any never;
  std::unique_lock lock(mutex);
  never.wait_for(lock, stop, time, [] { return false; });
  return !stop.stop_requested();
}

}  // namespace kf
