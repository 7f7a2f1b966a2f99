// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>
#include <signal.h>
#include <unistd.h>

#include <thread>

#include "os/child_process.h"
#include "os/entropy.h"
#include "os/interrupt.h"
#include "os/steady_clock.h"
#include "os/stop_descriptor.h"

namespace kf {
namespace {

using namespace std::chrono_literals;

TEST(SteadyClock, SleepsAtLeastAsLongAsAsked) {
  SteadyClock clock;
  const auto start = clock.now();
  EXPECT_TRUE(clock.sleep(5ms, {}));
  EXPECT_GE(clock.now() - start, 5ms);
}

TEST(SteadyClock, WakesUpForAStop) {
  SteadyClock clock;
  std::stop_source stop;
  std::jthread asker([&] { stop.request_stop(); });
  EXPECT_FALSE(clock.sleep(std::chrono::hours(1), stop.get_token()));
}

TEST(SteadyClock, WritesUtcAsIso8601) {
  const std::string utc = SteadyClock().utc();
  ASSERT_EQ(utc.size(), 20U) << utc;
  EXPECT_EQ(utc[10], 'T');
  EXPECT_EQ(utc[19], 'Z');
}

TEST(Entropy, NeverGivesTheSameSecretTwice) {
  EXPECT_NE(draw_run_secret().bytes, draw_run_secret().bytes);
  EXPECT_NE(draw_run_secret().bytes, RunSecret{}.bytes);
}

TEST(InterruptBridge, TurnsASignalIntoAStopRequest) {
  // In a forked child: the test program keeps its own handlers.
  OrError<ChildProcess> child = ChildProcess::fork({}, [] {
    InterruptBridge bridge;
    SteadyClock clock;
    ::kill(::getpid(), SIGTERM);
    const bool slept = clock.sleep(10s, bridge.token());
    return !slept && bridge.signal() == SIGTERM ? 0 : 1;
  });
  ASSERT_TRUE(child);
  EXPECT_TRUE(child->wait(20s)->ok());
}

TEST(InterruptBridge, LetsTheSecondSignalEndTheProgram) {
  OrError<ChildProcess> child = ChildProcess::fork({}, [] {
    InterruptBridge bridge;
    SteadyClock clock;
    ::kill(::getpid(), SIGINT);
    clock.sleep(10s, bridge.token());
    ::kill(::getpid(), SIGINT);
    return 0;
  });
  ASSERT_TRUE(child);
  EXPECT_EQ(child->wait(20s)->signal, SIGINT);
}

TEST(InterruptBridge, PutsTheOldHandlersBackAndCanBeMadeAgain) {
  OrError<ChildProcess> child = ChildProcess::fork({}, [] {
    {
      InterruptBridge first;
    }
    {
      InterruptBridge second;
    }
    struct sigaction now{};
    ::sigaction(SIGINT, nullptr, &now);
    return now.sa_handler == SIG_DFL ? 0 : 1;
  });
  ASSERT_TRUE(child);
  EXPECT_TRUE(child->wait(20s)->ok());
}

TEST(InterruptBridge, RefusesASecondOneAtTheSameTime) {
  InterruptBridge first;
  EXPECT_THROW(InterruptBridge(), Fatal);
}

}  // namespace
}  // namespace kf
