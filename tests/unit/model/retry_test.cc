// SPDX-License-Identifier: Apache-2.0
#include "model/retry.h"

#include <gtest/gtest.h>

namespace kf {
namespace {

using std::chrono::milliseconds;
constexpr std::string_view kNow = "2026-11-30T12:38:35Z";

std::optional<milliseconds> asked(std::string name, std::string value) {
  return asked_wait({429, {{std::move(name), std::move(value)}}}, kNow);
}

TEST(AskedWait, ReadsSecondsFractionsAndMilliseconds) {
  EXPECT_EQ(asked("retry-after", "7"), milliseconds(7000));
  EXPECT_EQ(asked("retry-after", " 0.2 "), milliseconds(200));
  EXPECT_EQ(asked("retry-after-ms", "1500"), milliseconds(1500));
}
TEST(AskedWait, PrefersMilliseconds) {
  EXPECT_EQ(asked_wait({429, {{"retry-after", "9"}, {"retry-after-ms", "10"}}}, kNow), milliseconds(10));
  EXPECT_EQ(asked_wait({429, {{"retry-after", "9"}, {"retry-after-ms", "soon"}}}, kNow), milliseconds(9000));
}
TEST(AskedWait, ReadsTheThreeHttpDates) {
  EXPECT_EQ(asked("retry-after", "Mon, 30 Nov 2026 12:39:05 GMT"), milliseconds(30'000));
  EXPECT_EQ(asked("retry-after", "Monday, 30-Nov-26 12:39:05 GMT"), milliseconds(30'000));
  EXPECT_EQ(asked("retry-after", "Mon Nov 30 12:39:05 2026"), milliseconds(30'000));
}
TEST(AskedWait, IgnoresZeroThePastAndNonsense) {
  for (const char* const value : {"0", "-5", "Mon, 30 Nov 2026 12:00:00 GMT", "soon", "", "1e400", "nan", "7 s"}) {
    EXPECT_EQ(asked("retry-after", value), std::nullopt) << value;
  }
  EXPECT_EQ(asked_wait({429, {}}, kNow), std::nullopt);
}
TEST(RetryDelay, DoublesUpToItsLimitLessJitter) {
  const RetrySettings settings;
  EXPECT_EQ(retry_delay(1, {}, settings, 0), milliseconds(500));
  EXPECT_EQ(retry_delay(2, {}, settings, 0), milliseconds(1000));
  EXPECT_EQ(retry_delay(5, {}, settings, 0), milliseconds(8000));
  EXPECT_EQ(retry_delay(1'000'000, {}, settings, 0), milliseconds(8000));
  EXPECT_EQ(retry_delay(5, {}, settings, 1), milliseconds(6000));
}
TEST(RetryDelay, NeverUndercutsWhatTheServerAsked) {
  const RetrySettings settings;
  EXPECT_EQ(retry_delay(1, milliseconds(4000), settings, 0), milliseconds(4000));
  EXPECT_EQ(retry_delay(1, milliseconds(4000), settings, 1), milliseconds(5000));
  EXPECT_EQ(retry_delay(1, milliseconds(600'000), settings, 1), milliseconds(610'000));  // jitter has a limit
}
TEST(Limiter, HoldsUntilTheLatestTime) {
  Limiter limiter;
  const auto now = std::chrono::steady_clock::time_point(milliseconds(10'000));
  EXPECT_EQ(limiter.wait_from(now), milliseconds(0));
  limiter.hold_until(now + milliseconds(700));
  limiter.hold_until(now + milliseconds(300));
  EXPECT_EQ(limiter.wait_from(now), milliseconds(700));
  EXPECT_EQ(limiter.wait_from(now + milliseconds(700)), milliseconds(0));
}

}  // namespace
}  // namespace kf
