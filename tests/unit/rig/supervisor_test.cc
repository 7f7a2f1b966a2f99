// SPDX-License-Identifier: Apache-2.0
// The real supervisor as a process of its own, spoken to in frames.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <unistd.h>

#include <algorithm>
#include <fstream>

#include "format/outcome_json.h"
#include "os/child_process.h"
#include "os/stop_descriptor.h"
#include "rig/message.h"
#include "tests/fakes/toy_operation.h"
#include "worker_ways.h"

namespace kf {
namespace {

using std::chrono::milliseconds;
using testing::HasSubstr;

std::vector<pid_t> children_of(pid_t parent) {
  std::ifstream list("/proc/" + std::to_string(parent) + "/task/" + std::to_string(parent) + "/children");
  std::vector<pid_t> found;
  for (pid_t child = 0; list >> child;) {
    found.push_back(child);
  }
  return found;
}
// Gone, or a zombie that nobody reaps.
bool ends(pid_t process) {
  for (int i = 0; i < 500; ++i) {
    std::ifstream stat("/proc/" + std::to_string(process) + "/stat");
    std::string number, name, state;
    if (!(stat >> number >> name >> state) || state == "Z" || state == "X") {
      return true;
    }
    ::usleep(10'000);
  }
  return false;
}

class Supervised : public testing::Test {
 protected:
  void start(const std::string& way) {
    ChildOptions options;
    options.argv = rig_options(way).worker;
    options.inherit_environment = true;
    options.in = options.out = options.err = Stream::kPipe;
    auto started = ChildProcess::start(options);
    ASSERT_TRUE(started) << to_string(started.error());
    worker_.emplace(*std::move(started));
  }
  void say(const Message& message) { ASSERT_TRUE(write_all(worker_->in().get(), *encode_frame(to_frame(message)))); }
  std::optional<Message> hear(milliseconds time = milliseconds(20'000)) {
    for (;;) {
      auto frame = reader_.next();
      if (!frame) {
        return std::nullopt;
      }
      if (*frame) {
        return *read_message(**std::move(frame));
      }
      if (wait_readable(worker_->out().get(), time, {}) != Ready::kReadable) {
        return std::nullopt;
      }
      const auto bytes = read_some(worker_->out().get());
      if (!bytes || bytes->empty()) {
        return std::nullopt;
      }
      reader_.feed(std::as_bytes(std::span(*bytes)));
    }
  }
  std::optional<Outcome> hear_outcome(std::uint64_t number) {
    for (;;) {
      const auto message = hear();
      if (!message || (message->kind == MessageKind::kOutcome && message->job == number)) {
        return message ? std::optional(*decode_outcome(message->body, message->blob)) : std::nullopt;
      }
    }
  }
  void hear_hello() {
    const auto hello = hear();
    ASSERT_TRUE(hello);
    ASSERT_TRUE(read_hello(*hello));
  }
  Job job(const std::string& entry) { return fakes::toy_check(entry, {fakes::toy_case(3, 8)}); }

  std::optional<ChildProcess> worker_;
  FrameReader reader_;
};

TEST_F(Supervised, SaysHelloWithItsDevice) {
  start("good");
  const auto message = hear();
  ASSERT_TRUE(message);
  const auto hello = read_hello(*message);
  ASSERT_TRUE(hello) << to_string(hello.error());
  EXPECT_EQ(hello->version, "test");
  EXPECT_EQ(std::get<DeviceFacts>(hello->described).kind, "host");
}

TEST_F(Supervised, AnswersJobsOneAfterTheOther) {
  start("good");
  hear_hello();
  for (std::uint64_t number = 1; number <= 3; ++number) {
    say(job_message(number, job(number == 2 ? "nothing" : "good")));
  }
  for (std::uint64_t number = 1; number <= 3; ++number) {
    const auto outcome = hear_outcome(number);
    ASSERT_TRUE(outcome);
    EXPECT_EQ(std::get<CheckReport>(*outcome).verdict.passed, number != 2);
  }
}

TEST_F(Supervised, TellsThePhases) {
  start("good");
  hear_hello();
  say(job_message(1, job("good")));
  std::vector<std::string> phases;
  for (auto message = hear(); message && message->kind == MessageKind::kProgress; message = hear()) {
    phases.push_back(message->phase);
  }
  ASSERT_EQ(phases.size(), 14U);
  EXPECT_EQ(phases[0], "candidate");
  EXPECT_EQ(phases[1], "rig");
}

TEST_F(Supervised, EndsWithItsInputAndTakesItsChildrenAlong) {
  start("good");
  hear_hello();
  say(job_message(1, job("hang")));
  const auto phase = hear();
  ASSERT_TRUE(phase);
  const std::vector<pid_t> children = children_of(worker_->pid());
  EXPECT_FALSE(children.empty());
  worker_->in().reset();
  const auto exit = worker_->wait(milliseconds(5000));
  ASSERT_TRUE(exit);
  EXPECT_TRUE(exit->ok());
  for (const pid_t child : children) {
    EXPECT_TRUE(ends(child));
  }
}

TEST_F(Supervised, LeavesNoChildWhenItIsKilled) {
  start("good");
  hear_hello();
  say(job_message(1, job("hang")));
  ASSERT_TRUE(hear());
  const std::vector<pid_t> children = children_of(worker_->pid());
  ASSERT_FALSE(children.empty());
  ::kill(worker_->pid(), SIGKILL);  // the supervisor alone, not its group
  for (const pid_t child : children) {
    EXPECT_TRUE(ends(child));
  }
}

TEST_F(Supervised, KeepsOneChildWarmBetweenJobs) {
  start("good");
  hear_hello();
  for (int i = 0; i < 200 && children_of(worker_->pid()).size() != 1; ++i) {
    ::usleep(10'000);
  }
  const std::vector<pid_t> warm = children_of(worker_->pid());
  ASSERT_EQ(warm.size(), 1U);
  say(job_message(1, job("hang")));
  ASSERT_TRUE(hear());
  EXPECT_THAT(children_of(worker_->pid()), testing::Contains(warm.at(0)));  // it took the job
}

TEST_F(Supervised, MakesNoChildBesideAMeasurement) {
  start("good");
  hear_hello();
  for (int i = 0; i < 200 && children_of(worker_->pid()).size() != 1; ++i) {
    ::usleep(10'000);
  }
  const std::vector<pid_t> warm = children_of(worker_->pid());
  Job hanging = fakes::toy_time({"hang"}, {fakes::toy_case(3, 8)});
  say(job_message(1, hanging));
  ASSERT_TRUE(hear());
  ::usleep(50'000);
  EXPECT_EQ(children_of(worker_->pid()), warm);
}

TEST_F(Supervised, OpensTheNextChildsDeviceWhileItChecks) {
  start("good");
  hear_hello();
  say(job_message(1, job("hang")));
  ASSERT_TRUE(hear());
  for (int i = 0; i < 200 && children_of(worker_->pid()).size() != 2; ++i) {
    ::usleep(10'000);
  }
  EXPECT_EQ(children_of(worker_->pid()).size(), 2U);
}

TEST_F(Supervised, GivesTheNextJobANewChildWhenTheWarmOneDied) {
  start("good");
  hear_hello();
  for (int i = 0; i < 200 && children_of(worker_->pid()).size() != 1; ++i) {
    ::usleep(10'000);
  }
  ::kill(children_of(worker_->pid()).at(0), SIGKILL);
  ::usleep(100'000);
  say(job_message(1, job("good")));
  const auto outcome = hear_outcome(1);
  ASSERT_TRUE(outcome);
  EXPECT_TRUE(std::get<CheckReport>(*outcome).verdict.passed);
}

TEST_F(Supervised, CancelsTheRunningJobAndWaitingOnes) {
  start("good");
  hear_hello();
  say(job_message(1, job("hang")));
  say(job_message(2, job("good")));
  say(job_message(3, job("good")));
  Message cancel;
  cancel.kind = MessageKind::kCancel;
  cancel.job = 2;
  say(cancel);
  EXPECT_EQ(std::get<Fault>(*hear_outcome(2)).reason, "cancelled");
  cancel.job = 1;
  say(cancel);
  EXPECT_EQ(std::get<Fault>(*hear_outcome(1)).reason, "cancelled");
  EXPECT_TRUE(std::get<CheckReport>(*hear_outcome(3)).verdict.passed);
}

TEST_F(Supervised, EndsWithAnErrorWhenTheFactorySendsNoFrames) {
  start("good");
  hear_hello();
  ASSERT_TRUE(write_all(worker_->in().get(), std::string_view("\xff\xff\xff\xff\xff\xff\xff\xff")));
  const auto exit = worker_->wait(milliseconds(5000));
  ASSERT_TRUE(exit);
  EXPECT_EQ(exit->code, 1);
}

TEST_F(Supervised, EndsWithAnErrorWhenItsInputEndsWithinAFrame) {
  start("good");
  hear_hello();
  ASSERT_TRUE(write_all(worker_->in().get(), std::string_view("\x08\0\0\0", 4)));
  worker_->in().reset();
  const auto exit = worker_->wait(milliseconds(5000));
  ASSERT_TRUE(exit);
  EXPECT_EQ(exit->code, 1);
}

TEST_F(Supervised, PassesOnABoundedAndHarmlessLog) {
  start("kernel_prints");
  hear_hello();
  Job printing = job("misbehaves");
  printing.deadline = milliseconds(120'000);  // a gigabyte takes long on a busy machine
  say(job_message(1, printing));
  const auto outcome = hear_outcome(1);  // nobody reads its stderr meanwhile
  ASSERT_TRUE(outcome);
  EXPECT_TRUE(std::holds_alternative<CheckReport>(*outcome));
  worker_->in().reset();
  const auto log = read_all(worker_->err().get(), 1 << 20);
  ASSERT_TRUE(log);
  EXPECT_GT(log->size(), 1000U);
  EXPECT_LE(log->size(), 65536U * 2);
}

}  // namespace
}  // namespace kf
