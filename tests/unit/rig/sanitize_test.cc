// SPDX-License-Identifier: Apache-2.0
#include "rig/sanitize.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <optional>
#include <stop_token>
#include <thread>

#include "tests/fakes/toy_operation.h"
#include "worker_ways.h"

namespace kf {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::Not;

constexpr const char* kRacecheckLog =
    "========= COMPUTE-SANITIZER\n"
    "========= Error: Race reported between Write access at k(float *)+0x1a0 in /home/u/secret/kernel.cu:12\n"
    "=========     and Read access at k(float *)+0x240 in /home/u/secret/kernel.cu:19 [496 hazards]\n"
    "=========     Saved host backtrace up to driver entry point at kernel launch time\n"
    "=========         Host Frame: cuLaunchKernelEx [0x7f] in /usr/lib/libcuda.so.1\n"
    "a line that is not the tool's: ERROR SUMMARY: 0 errors\n"
    "========= \x1b[31mred\n"
    "========= RACECHECK SUMMARY: 2 hazards displayed (1 error, 1 warning)\n";

TEST(ToolLog, GivesCountsAndFindingsWithoutPathsAndControlCharacters) {
  const ToolRun run = read_tool_log("racecheck", kRacecheckLog);
  EXPECT_TRUE(run.ran);
  EXPECT_EQ(run.errors, 1);
  EXPECT_EQ(run.warnings, 1);
  EXPECT_THAT(run.text, AllOf(HasSubstr("Race reported between Write access"), HasSubstr("in kernel.cu:12"),
                              HasSubstr("?[31mred"), Not(HasSubstr("secret")), Not(HasSubstr("Host Frame")),
                              Not(HasSubstr("not the tool's"))));
}

TEST(ToolLog, WithoutASummaryTheToolDidNotRunToItsEnd) {
  EXPECT_FALSE(read_tool_log("memcheck", "========= COMPUTE-SANITIZER\n========= Error: Target application ter").ran);
  EXPECT_FALSE(read_tool_log("memcheck", "").ran);
  const ToolRun clean = read_tool_log("memcheck", "========= COMPUTE-SANITIZER\n========= ERROR SUMMARY: 0 errors\n");
  EXPECT_TRUE(clean.ran);
  EXPECT_EQ(clean.errors, 0);
}

TEST(ToolLog, IsBounded) {
  std::string log;
  for (int i = 0; i < 10'000; ++i) {
    log += "========= " + std::string(5'000, 'x') + "\n";
  }
  EXPECT_LT(read_tool_log("memcheck", log).text.size(), 5'000u);
}

// A rig whose PATH begins with a folder of ours: what lies there is the compute-sanitizer that its worker finds.
class Sanitizing : public testing::Test {
 protected:
  void SetUp() override {
    folder_ = testing::TempDir() + "/kf_sanitizer_" + std::to_string(::getpid());
    std::filesystem::create_directories(folder_);
    path_ = std::getenv("PATH");
    ::setenv("PATH", (folder_ + ":" + path_).c_str(), 1);
  }
  void TearDown() override {
    ::setenv("PATH", path_.c_str(), 1);
    std::filesystem::remove_all(folder_);
  }
  // $tool and $log are set, "$@" is the program to watch.
  void install(const std::string& body) {
    const std::string file = folder_ + "/compute-sanitizer";
    std::ofstream(file) << "#!/bin/sh\n"
                           "if [ \"$1\" = --version ]; then echo 'Version 2025.3.1 (build 36)'; exit 0; fi\n"
                           "tool=$2; log=$6; shift 6\n"
                           "[ \"$1\" = --report-api-errors ] && shift 2\n"
                        << body;
    ::chmod(file.c_str(), 0755);
  }
  Outcome outcome_of(const std::string& entry, int tool_limit_ms, int deadline_ms, std::stop_token stop = {}) {
    auto rig = LocalRig::start(rig_options("good"));
    EXPECT_TRUE(rig) << to_string(rig.error());
    Job job = fakes::toy_check(entry, {fakes::toy_case(3, 8)});
    job.kind = Job::Kind::kSanitize;
    job.tool_limit = std::chrono::milliseconds(tool_limit_ms);
    job.deadline = std::chrono::milliseconds(deadline_ms);
    return (*rig)->run(job, std::move(stop));
  }
  SanitizerReport report(const std::string& entry, int tool_limit_ms = 20'000) {
    const Outcome outcome = outcome_of(entry, tool_limit_ms, 60'000);
    const auto* found = std::get_if<SanitizerReport>(&outcome);
    EXPECT_NE(found, nullptr) << outcome.index();
    return found == nullptr ? SanitizerReport{} : *found;
  }
  std::string folder_, path_;
};

TEST_F(Sanitizing, RunsTheJobUnderFourToolsAndQuotesWhatTheySay) {
  install("\"$@\" && echo '========= ERROR SUMMARY: 0 errors' >$log\n");
  const SanitizerReport found = report("good");
  EXPECT_EQ(found.not_run, "");
  ASSERT_EQ(found.tools.size(), 4u);
  EXPECT_EQ(found.tools[1].tool, "racecheck");
  for (const ToolRun& run : found.tools) {
    EXPECT_TRUE(run.ran) << run.text;
    EXPECT_EQ(run.version, "2025.3.1");
    EXPECT_THAT(run.text, HasSubstr("1 launches compared, all right"));
    EXPECT_GT(run.milliseconds, 0);
  }
}

TEST_F(Sanitizing, SaysWhatTheChecksFoundUnderTheTool) {
  install("\"$@\"; printf '========= Invalid read\\n========= ERROR SUMMARY: 3 errors\\n' >$log; exit 1\n");
  const SanitizerReport found = report("half_rows");
  ASSERT_EQ(found.tools.size(), 4u);
  EXPECT_EQ(found.tools[0].errors, 3);
  EXPECT_THAT(found.tools[0].text, AllOf(HasSubstr("refused under the tool: unwritten"), HasSubstr("Invalid read"),
                                         HasSubstr("exit code 1")));
}

TEST_F(Sanitizing, AToolThatHangsCostsItsLimitAndNoMore) {
  install("[ $tool = initcheck ] && sleep 600\n\"$@\" && echo '========= ERROR SUMMARY: 0 errors' >$log\n");
  const SanitizerReport found = report("good", 5'000);
  ASSERT_EQ(found.tools.size(), 4u);
  EXPECT_FALSE(found.tools[2].ran);
  EXPECT_THAT(found.tools[2].text, HasSubstr("did not end within 5000 ms"));
  EXPECT_TRUE(found.tools[3].ran) << found.tools[3].text;
}

TEST_F(Sanitizing, AToolThatWritesGarbageHasNotRun) {
  install("head -c 100000 /dev/urandom >$log\n");
  for (const ToolRun& run : report("good").tools) {
    EXPECT_FALSE(run.ran);
    EXPECT_THAT(run.text, HasSubstr("gave no answer"));
  }
}

TEST_F(Sanitizing, SaysWhereItLookedWhenItIsNotInstalled) {
  ToolkitQuery nowhere;
  nowhere.environment = [](const char*) { return std::nullopt; };
  nowhere.prefixes = {folder_};
  const SanitizerReport found =
      run_sanitizer(fakes::toy_check("good", {fakes::toy_case(3, 8)}), {{}, nowhere, ""}, ScratchFolder(folder_));
  EXPECT_THAT(found.not_run, AllOf(HasSubstr("not installed"), HasSubstr(folder_)));
  EXPECT_TRUE(found.tools.empty());
}

// The worker's TMPDIR, for one test.
class SanitizingInItsOwnFolder : public Sanitizing {
 protected:
  void SetUp() override {
    Sanitizing::SetUp();
    scratch_ = folder_ + "/scratch";
    std::filesystem::create_directories(scratch_);
    const char* before = std::getenv("TMPDIR");
    before_ = before == nullptr ? std::nullopt : std::optional<std::string>(before);
    ::setenv("TMPDIR", scratch_.c_str(), 1);
  }
  void TearDown() override {
    before_ ? ::setenv("TMPDIR", before_->c_str(), 1) : ::unsetenv("TMPDIR");
    Sanitizing::TearDown();
  }
  // What jobs left behind.
  std::vector<std::string> left() const {
    std::vector<std::string> names;
    for (const auto& entry : std::filesystem::directory_iterator(scratch_)) {
      if (entry.path().filename().string().starts_with("kfactory-sanitize-")) {
        names.push_back(entry.path().filename());
      }
    }
    return names;
  }
  std::string scratch_;
  std::optional<std::string> before_;
};

TEST_F(SanitizingInItsOwnFolder, LeavesNothingBehind) {
  // The tool itself sees the job in the folder: the test looks in the right place.
  install("ls " + scratch_ + "/kfactory-sanitize-*/job >" + folder_ + "/seen\n");
  report("good");
  std::string seen;
  std::getline(std::ifstream(folder_ + "/seen") >> std::ws, seen);
  EXPECT_THAT(seen, HasSubstr("/job"));
  EXPECT_THAT(left(), testing::IsEmpty());
}

TEST_F(SanitizingInItsOwnFolder, LeavesNothingBehindWhenItsProcessIsKilledAtTheDeadline) {
  install("touch " + folder_ + "/began; while :; do echo x >>$log; done\n");
  const Outcome outcome = outcome_of("good", 20'000, 1'500);
  EXPECT_TRUE(std::holds_alternative<Fault>(outcome));
  EXPECT_TRUE(std::filesystem::exists(folder_ + "/began"));
  EXPECT_THAT(left(), testing::IsEmpty());
}

TEST_F(SanitizingInItsOwnFolder, LeavesNothingBehindWhenItIsStopped) {
  install("touch " + folder_ + "/began; setsid sleep 600 & sleep 600\n");
  std::stop_source stop;
  std::jthread stopper([&] {
    while (!std::filesystem::exists(folder_ + "/began")) {
      std::this_thread::sleep_for(std::chrono::milliseconds(5));
    }
    EXPECT_THAT(left(), testing::SizeIs(1));
    stop.request_stop();
  });
  (void)outcome_of("good", 20'000, 60'000, stop.get_token());
  stopper.join();
  EXPECT_THAT(left(), testing::IsEmpty());
}

TEST_F(Sanitizing, SaysWhichFolderItCouldNotMakeAndWhy) {
  install("exit 0\n");
  const std::string missing = folder_ + "/missing";
  const SanitizerReport found = run_sanitizer(fakes::toy_check("good", {fakes::toy_case(3, 8)}),
                                              {{}, ToolkitQuery{}, missing}, ScratchFolder(missing));
  EXPECT_THAT(found.not_run, AllOf(HasSubstr(missing + "/kfactory-sanitize-"), HasSubstr("No such file or directory"),
                                   HasSubstr("TMPDIR")));
  EXPECT_TRUE(found.tools.empty());
}

}  // namespace
}  // namespace kf
