// SPDX-License-Identifier: Apache-2.0
#include "rig/local_rig.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <unistd.h>

#include <cstdlib>
#include <fstream>
#include <thread>

#include "tests/fakes/toy_operation.h"
#include "worker_ways.h"

namespace kf {
namespace {

using std::chrono::milliseconds;
using testing::HasSubstr;

std::unique_ptr<LocalRig> rig_in_way(const std::string& way) {
  auto rig = LocalRig::start(rig_options(way));
  EXPECT_TRUE(rig) << to_string(rig.error());
  return rig ? *std::move(rig) : nullptr;
}
Job job(const std::string& entry, int deadline_ms = 20'000) {
  Job made = fakes::toy_check(entry, {fakes::toy_case(3, 8)});
  made.deadline = milliseconds(deadline_ms);
  return made;
}
bool passes(LocalRig& rig) {
  const Outcome outcome = rig.run(job("good"), {});
  const auto* report = std::get_if<CheckReport>(&outcome);
  return report != nullptr && report->verdict.passed;
}
Fault fault_of(const Outcome& outcome) {
  const auto* fault = std::get_if<Fault>(&outcome);
  return fault == nullptr ? Fault{Fault::Kind::kRig, "none", "no fault"} : *fault;
}

TEST(LocalRig, KnowsItsDevice) {
  const auto rig = rig_in_way("good");
  EXPECT_EQ(rig->facts().kind, "host");
  EXPECT_EQ(rig->facts().l2_bytes, 1 << 20);
}

TEST(LocalRig, ReturnsVerdicts) {
  const auto rig = rig_in_way("good");
  EXPECT_TRUE(passes(*rig));
  const Outcome outcome = rig->run(job("half_rows"), {});
  const Verdict& verdict = std::get<CheckReport>(outcome).verdict;
  EXPECT_EQ(verdict.reason, "unwritten");
  EXPECT_EQ(verdict.mismatch->wrong, 12);
}

TEST(LocalRig, RunsTimingAndAdmissionJobs) {
  const auto rig = rig_in_way("good");
  Job timing = fakes::toy_time({"good", "naive"}, {fakes::toy_case(3, 8)});
  const Outcome timed = rig->run(timing, {});
  ASSERT_TRUE(std::holds_alternative<TimeReport>(timed)) << fault_of(timed).what;
  EXPECT_GE(std::get<TimeReport>(timed).measurement.cases.at(0).verified, 3);
  Job admission = job("naive");
  admission.kind = Job::Kind::kAdmit;
  const Outcome admitted = rig->run(admission, {});
  EXPECT_TRUE(std::get<AdmissionReport>(admitted).admitted);
  Job profile = job("good");
  profile.kind = Job::Kind::kProfile;
  const Outcome counted = rig->run(profile, {});
  EXPECT_THAT(std::get<Profile>(counted).refused, HasSubstr("no counters"));
  Job describe;
  describe.kind = Job::Kind::kDescribe;
  EXPECT_TRUE(std::holds_alternative<DeviceFacts>(rig->run(describe, {})));
}

// How a candidate's kernel can end or abuse its process, what it is called, and that the next job is unharmed.
struct Way {
  const char *way, *entry, *reason;
};
class BadKernels : public testing::TestWithParam<Way> {};
TEST_P(BadKernels, AreTheCandidatesFaultAndHarmNobody) {
  const auto rig = rig_in_way(GetParam().way);
  const pid_t worker = rig->worker_pid();
  const Fault fault = fault_of(rig->run(job(GetParam().entry, 700), {}));
  EXPECT_EQ(fault.kind, Fault::Kind::kCandidate) << fault.what;
  EXPECT_EQ(fault.reason, GetParam().reason) << fault.what;
  EXPECT_TRUE(passes(*rig));
  EXPECT_EQ(rig->worker_pid(), worker);  // the supervisor did not even notice
}
INSTANTIATE_TEST_SUITE_P(
    Ways, BadKernels,
    testing::Values(
        Way{"good", "hang", "timeout"}, Way{"good", "crash", "crash"}, Way{"good", "exit", "vanished"},
        Way{"kernel_abort", "misbehaves", "crash"}, Way{"kernel_exit_3", "misbehaves", "crash"},
        Way{"kernel_gets_killed", "misbehaves", "killed"}, Way{"kernel_garbage", "misbehaves", "garbage"},
        Way{"kernel_garbage_frame", "misbehaves", "garbage"}, Way{"kernel_half_frame", "misbehaves", "half_frame"},
        Way{"kernel_huge_frame", "misbehaves", "garbage"}, Way{"kernel_announces_much", "misbehaves", "half_frame"},
        Way{"kernel_closes_pipe", "misbehaves", "timeout"}, Way{"kernel_prints_for_ever", "misbehaves", "timeout"},
        Way{"kernel_other_job", "misbehaves", "garbage"}, Way{"kernel_ignores_signals", "misbehaves", "timeout"},
        Way{"open_late", "hang", "timeout"}),
    [](const auto& test) { return std::string(test.param.way) + "_" + test.param.entry; });

// Another process has the device for longer than the job may take.
TEST(LocalRig, NoTimePassesWhileAJobWaitsForTheDevice) {
  RigOptions options = rig_options("waits_for_the_device");
  int said = 0;
  options.waits = [&said] { ++said; };
  options.grace = milliseconds(100);
  auto rig = LocalRig::start(std::move(options));
  ASSERT_TRUE(rig);
  const Outcome outcome = (*rig)->run(job("good", 700), {});
  ASSERT_TRUE(std::holds_alternative<CheckReport>(outcome)) << fault_of(outcome).what;
  EXPECT_TRUE(std::get<CheckReport>(outcome).verdict.passed);
  EXPECT_EQ(said, 1);
  const Fault hangs = fault_of((*rig)->run(job("hang", 700), {}));
  EXPECT_EQ(hangs.kind, Fault::Kind::kCandidate) << hangs.what;
  EXPECT_EQ(hangs.reason, "timeout");
}

TEST(LocalRig, NoTimePassesWhileItsStartWaitsForTheDevice) {
  RigOptions options = rig_options("waits_to_describe_it");
  int said = 0;
  options.waits = [&said] { ++said; };
  options.start_deadline = milliseconds(700);
  const auto rig = LocalRig::start(std::move(options));
  ASSERT_TRUE(rig) << to_string(rig.error());
  EXPECT_EQ(said, 1);
  EXPECT_TRUE(passes(**rig));
}

TEST(LocalRig, DoesNotBelieveWhatAKernelPrints) {
  const auto rig = rig_in_way("kernel_forged_outcome");
  const Outcome outcome = rig->run(job("misbehaves"), {});
  EXPECT_TRUE(std::get<CheckReport>(outcome).verdict.passed);  // by its outputs, which are right
  EXPECT_EQ(std::get<CheckReport>(outcome).verdict.checks, 7);
}

TEST(LocalRig, SurvivesAGigabyteOfOutput) {
  const auto rig = rig_in_way("kernel_prints");
  const Outcome outcome = rig->run(job("misbehaves", 240'000), {});  // 4 s; the thread sanitizer needs minutes
  EXPECT_TRUE(std::holds_alternative<CheckReport>(outcome)) << fault_of(outcome).what;
  EXPECT_TRUE(passes(*rig));
}

std::string mark_file() {
  const std::string path = testing::TempDir() + "kf_rig_mark_" + std::to_string(::getpid());
  ::unlink(path.c_str());
  ::setenv("KFACTORY_TEST_PID", path.c_str(), 1);
  return path;
}

TEST(LocalRig, EndsGrandchildrenThatLeftTheirGroup) {
  const std::string path = mark_file();
  const auto rig = rig_in_way("kernel_grandchild");
  (void)rig->run(job("misbehaves"), {});
  pid_t grandchild = 0;
  std::ifstream(path) >> grandchild;
  ASSERT_GT(grandchild, 1);
  for (int i = 0; i < 300 && ::kill(grandchild, 0) == 0; ++i) {
    ::usleep(10'000);
  }
  EXPECT_NE(::kill(grandchild, 0), 0);
  EXPECT_TRUE(passes(*rig));
}

// Whatever eats this machine's memory in a job's process: the kernel ends that process first.
TEST(LocalRig, AJobsProcessGoesFirstWhenMemoryRunsOut) {
  const std::string path = mark_file();
  const auto rig = rig_in_way("kernel_tells_its_oom_score");
  (void)rig->run(job("misbehaves"), {});
  int score = 0;
  std::ifstream(path) >> score;
  EXPECT_EQ(score, 1000);
  std::ifstream supervisors("/proc/" + std::to_string(rig->worker_pid()) + "/oom_score_adj");
  int theirs = 1000;
  supervisors >> theirs;
  EXPECT_LT(theirs, 1000);
}

class RigTrouble : public testing::TestWithParam<Way> {};
TEST_P(RigTrouble, OutsideTheCandidatesLaunchesIsTheRigs) {
  const auto rig = rig_in_way(GetParam().way);
  const Fault fault = fault_of(rig->run(job(GetParam().entry, 500), {}));
  EXPECT_EQ(fault.kind, Fault::Kind::kRig) << fault.what;
  EXPECT_EQ(fault.reason, GetParam().reason) << fault.what;
}
INSTANTIATE_TEST_SUITE_P(
    Ways, RigTrouble,
    testing::Values(Way{"compare_crashes", "good", "crash"}, Way{"compare_hangs", "good", "timeout"},
                    Way{"hello_then_nothing", "good", "timeout"}, Way{"hello_then_garbage", "good", "vanished"},
                    Way{"hello_then_half_frame", "good", "vanished"}, Way{"hello_then_end", "good", "vanished"},
                    Way{"kernel_kills_supervisor", "misbehaves", "vanished"},
                    Way{"kernel_gets_stopped", "misbehaves", "stopped"}),
    [](const auto& test) { return std::string(test.param.way); });

TEST(LocalRig, TriesAgainAfterARigFault) {
  mark_file();
  const auto rig = rig_in_way("compare_crashes_once");
  const Outcome outcome = rig->run(job("good"), {});
  ASSERT_TRUE(std::holds_alternative<CheckReport>(outcome)) << fault_of(outcome).what;
  EXPECT_TRUE(std::get<CheckReport>(outcome).verdict.passed);
}

// Nothing that a kernel does sends SIGKILL; an operator and a kernel short of memory do.
TEST(LocalRig, TriesAgainWhenAJobWasKilledFromOutside) {
  mark_file();
  const auto rig = rig_in_way("kernel_gets_killed_once");
  const Outcome outcome = rig->run(job("misbehaves"), {});
  ASSERT_TRUE(std::holds_alternative<CheckReport>(outcome)) << fault_of(outcome).what;
  EXPECT_TRUE(std::get<CheckReport>(outcome).verdict.passed);
}

TEST(LocalRig, ReplacesASupervisorThatWasKilledBetweenJobs) {
  const auto rig = rig_in_way("good");
  EXPECT_TRUE(passes(*rig));
  const pid_t first = rig->worker_pid();
  ::kill(first, SIGKILL);
  EXPECT_TRUE(passes(*rig));
  EXPECT_NE(rig->worker_pid(), first);
}

TEST(LocalRig, ReplacesASupervisorThatIsKilledDuringAJob) {
  const auto rig = rig_in_way("good");
  std::jthread killer([&, first = rig->worker_pid()] {
    ::usleep(200'000);
    ::kill(first, SIGKILL);
  });
  const Fault fault = fault_of(rig->run(job("hang", 700), {}));
  EXPECT_EQ(fault.kind, Fault::Kind::kCandidate);  // the second worker saw it hang
  EXPECT_TRUE(passes(*rig));
}

TEST(LocalRig, StopsARunningJobWhenAsked) {
  const auto rig = rig_in_way("good");
  std::stop_source stop;
  std::jthread stopper([&] {
    ::usleep(200'000);
    stop.request_stop();
  });
  const auto start = std::chrono::steady_clock::now();
  EXPECT_EQ(fault_of(rig->run(job("hang"), stop.get_token())).reason, "cancelled");
  EXPECT_LT(std::chrono::steady_clock::now() - start, std::chrono::seconds(5));
  EXPECT_TRUE(passes(*rig));
}

TEST(LocalRig, DoesNotBeginWhenAlreadyStopped) {
  const auto rig = rig_in_way("good");
  std::stop_source stop;
  stop.request_stop();
  EXPECT_EQ(fault_of(rig->run(job("good"), stop.get_token())).reason, "cancelled");
}

TEST(LocalRig, ServesThreadsOneAfterTheOther) {
  const auto rig = rig_in_way("good");
  std::atomic<int> passed = 0, refused = 0;
  {
    std::vector<std::jthread> threads;
    for (int t = 0; t < 4; ++t) {
      threads.emplace_back([&, t] {
        for (int i = 0; i < 5; ++i) {
          const Outcome outcome = rig->run(job(t % 2 == 0 ? "good" : "nothing"), {});
          if (const auto* report = std::get_if<CheckReport>(&outcome)) {
            (report->verdict.passed ? passed : refused) += 1;
          }
        }
      });
    }
  }
  EXPECT_EQ(passed, 10);
  EXPECT_EQ(refused, 10);
}

TEST(LocalRig, GivesTheWorkerNoSecret) {
  ::setenv("OPENAI_API_KEY", "sk-test-must-not-arrive", 1);
  const auto rig = rig_in_way("good");
  std::ifstream file("/proc/" + std::to_string(rig->worker_pid()) + "/environ", std::ios::binary);
  const std::string environment((std::istreambuf_iterator<char>(file)), {});
  EXPECT_THAT(environment, HasSubstr("PATH="));
  EXPECT_THAT(environment, testing::Not(HasSubstr("sk-test-must-not-arrive")));
  ::unsetenv("OPENAI_API_KEY");
}

TEST(LocalRig, StartsBehindALauncher) {
  RigOptions options = rig_options("good");
  options.launcher = {"/usr/bin/env"};
  options.worker[0] = "/proc/" + std::to_string(::getpid()) + "/exe";
  auto rig = LocalRig::start(options);
  ASSERT_TRUE(rig) << to_string(rig.error());
  EXPECT_TRUE(passes(**rig));
}

struct BadStart {
  const char *way, *words;
};
class BadStarts : public testing::TestWithParam<BadStart> {};
TEST_P(BadStarts, SayWhatHappened) {
  RigOptions options = rig_options(GetParam().way);
  options.start_deadline = milliseconds(GetParam().way == std::string_view("silent") ? 500 : 20'000);
  const auto rig = LocalRig::start(options);
  ASSERT_FALSE(rig);
  EXPECT_THAT(to_string(rig.error()), HasSubstr(GetParam().words));
}
INSTANTIATE_TEST_SUITE_P(
    Ways, BadStarts,
    testing::Values(BadStart{"silent", "no hello after 500 ms"}, BadStart{"prints_text", "no message"},
                    BadStart{"ends_at_once", "libcuda.so.1: cannot open"}, BadStart{"other_protocol", "same kfactory"},
                    BadStart{"open_fails", "no driver here"}, BadStart{"open_crashes", "ended with signal 6"},
                    BadStart{"open_hangs", "not done after 300 ms"}),
    [](const auto& test) { return std::string(test.param.way); });

TEST(BadStarts, OfAnotherVersionSayBothVersions) {
  RigOptions options = rig_options("good");
  options.version = "9.9";
  const auto rig = LocalRig::start(options);
  ASSERT_FALSE(rig);
  EXPECT_THAT(to_string(rig.error()), HasSubstr("it is kfactory test, this is 9.9"));
}

TEST(BadStarts, OfNoProgramNameIt) {
  RigOptions options = rig_options("good");
  options.worker = {"/no/such/program"};
  const auto rig = LocalRig::start(options);
  ASSERT_FALSE(rig);
  EXPECT_THAT(to_string(rig.error()), HasSubstr("/no/such/program"));
}

}  // namespace
}  // namespace kf
