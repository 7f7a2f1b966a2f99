// SPDX-License-Identifier: Apache-2.0
#include "retry.h"

#include <algorithm>
#include <charconv>
#include <ctime>
#include <string>

namespace kf {
namespace {

using Milliseconds = std::chrono::milliseconds;
constexpr Milliseconds kMostJitter{10'000};  // beside a wait that the server asked for

std::optional<std::int64_t> read_time(const std::string& text, const char* format) {
  std::tm parts{};
  const char* const end = strptime(text.c_str(), format, &parts);
  if (end == nullptr || *end != '\0') {
    return std::nullopt;
  }
  return static_cast<std::int64_t>(timegm(&parts));
}

std::optional<double> read_number(std::string_view text) {
  double number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  const bool whole = error == std::errc() && end == text.data() + text.size();
  return whole && number >= 0 && number < 1e12 ? std::optional(number) : std::nullopt;
}

std::string_view trimmed(std::string_view text) {
  while (!text.empty() && (text.back() == ' ' || text.back() == '\t')) {
    text.remove_suffix(1);
  }
  text.remove_prefix(std::min(text.size(), text.find_first_not_of(" \t")));
  return text;
}

}  // namespace

std::optional<std::int64_t> seconds_from_http_date(std::string_view text) {
  const std::string value(text);
  for (const char* const format :
       {"%a, %d %b %Y %H:%M:%S GMT", "%A, %d-%b-%y %H:%M:%S GMT", "%a %b %d %H:%M:%S %Y"}) {  // RFC 9110, 5.6.7
    if (const auto seconds = read_time(value, format)) {
      return seconds;
    }
  }
  return std::nullopt;
}

std::optional<std::int64_t> seconds_from_utc(std::string_view text) {
  return read_time(std::string(text), "%Y-%m-%dT%H:%M:%SZ");
}

std::optional<Milliseconds> asked_wait(const HttpHead& head, std::string_view utc_now) {
  const auto positive = [](double milliseconds) {
    return milliseconds >= 1 ? std::optional(Milliseconds(static_cast<std::int64_t>(milliseconds))) : std::nullopt;
  };
  if (const auto text = head.find("retry-after-ms")) {
    if (const auto number = read_number(trimmed(*text))) {
      return positive(*number);
    }
  }
  const auto text = head.find("retry-after");
  if (!text) {
    return std::nullopt;
  }
  if (const auto number = read_number(trimmed(*text))) {
    return positive(*number * 1000);
  }
  const auto date = seconds_from_http_date(trimmed(*text));
  const auto now = seconds_from_utc(utc_now);
  return date && now ? positive(static_cast<double>(*date - *now) * 1000) : std::nullopt;
}

Milliseconds retry_delay(int retry, std::optional<Milliseconds> asked, const RetrySettings& settings, double draw) {
  const auto share = [&](Milliseconds time) {
    return Milliseconds(static_cast<std::int64_t>(static_cast<double>(time.count()) * 0.25 * draw));
  };
  if (asked) {
    return *asked + std::min(share(*asked), kMostJitter);
  }
  Milliseconds delay = settings.first_delay;
  for (int i = 1; i < retry && delay < settings.longest_delay; ++i) {
    delay *= 2;
  }
  delay = std::min(delay, settings.longest_delay);
  return delay - share(delay);
}

void Limiter::hold_until(std::chrono::steady_clock::time_point time) {
  const std::lock_guard lock(mutex_);
  until_ = std::max(until_, time);
}

Milliseconds Limiter::wait_from(std::chrono::steady_clock::time_point now) const {
  const std::lock_guard lock(mutex_);
  return until_ > now ? std::chrono::ceil<Milliseconds>(until_ - now) : Milliseconds(0);
}

}  // namespace kf
