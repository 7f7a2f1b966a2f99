// SPDX-License-Identifier: Apache-2.0
#include "os/child_process.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/resource.h>
#include <unistd.h>

#include <cstdlib>
#include <thread>

#include "os/stop_descriptor.h"

namespace kf {
namespace {

using namespace std::chrono_literals;

ChildOptions shell(const std::string& script) {
  ChildOptions options;
  options.argv = {"/bin/sh", "-c", script};
  options.out = Stream::kPipe;
  return options;
}

std::string output_of(ChildOptions options) {
  OrError<ChildProcess> child = ChildProcess::start(options);
  if (!child) {
    return "error: " + to_string(child.error());
  }
  const OrError<std::string> text = read_all(child->out().get(), 1 << 20);
  child->wait(10s);
  return text ? *text : to_string(text.error());
}

TEST(ChildProcess, GivesTheExitCode) {
  OrError<ChildProcess> child = ChildProcess::start(shell("exit 7"));
  ASSERT_TRUE(child) << to_string(child.error());
  const auto exit = child->wait(10s);
  ASSERT_TRUE(exit);
  EXPECT_EQ(exit->code, 7);
  EXPECT_FALSE(exit->ok());
  EXPECT_EQ(to_string(*exit), "exit code 7");
}

TEST(ChildProcess, GivesTheSignal) {
  OrError<ChildProcess> child = ChildProcess::start(shell("kill -SEGV $$"));
  ASSERT_TRUE(child);
  const auto exit = child->wait(10s);
  ASSERT_TRUE(exit);
  EXPECT_EQ(exit->signal, SIGSEGV);
  EXPECT_EQ(to_string(*exit), "signal 11 (Segmentation fault)");
}

TEST(ChildProcess, KnowsWhetherItWasStopped) {
  OrError<ChildProcess> child = ChildProcess::start(shell("exec sleep 100"));
  ASSERT_TRUE(child);
  EXPECT_FALSE(child->is_stopped());
  ::kill(child->pid(), SIGSTOP);
  for (int i = 0; i < 1000 && !child->is_stopped(); ++i) {
    std::this_thread::sleep_for(1ms);
  }
  EXPECT_TRUE(child->is_stopped());
  ::kill(child->pid(), SIGCONT);
  for (int i = 0; i < 1000 && child->is_stopped(); ++i) {
    std::this_thread::sleep_for(1ms);
  }
  EXPECT_FALSE(child->is_stopped());
}

TEST(ChildProcess, SaysWhichProgramCannotBeExecuted) {
  ChildOptions options;
  options.argv = {"/no/such/program"};
  const OrError<ChildProcess> child = ChildProcess::start(options);
  ASSERT_FALSE(child);
  EXPECT_EQ(to_string(child.error()), "/no/such/program: cannot execute: No such file or directory");
}

TEST(ChildProcess, SaysWhichFolderIsMissing) {
  ChildOptions options = shell("true");
  options.working_directory = "/no/such/folder";
  const OrError<ChildProcess> child = ChildProcess::start(options);
  ASSERT_FALSE(child);
  EXPECT_NE(child.error().what.find("/no/such/folder"), std::string::npos);
}

TEST(ChildProcess, ConnectsStandardInputAndOutput) {
  ChildOptions options = shell("cat");
  options.in = Stream::kPipe;
  OrError<ChildProcess> child = ChildProcess::start(options);
  ASSERT_TRUE(child);
  ASSERT_TRUE(write_all(child->in().get(), "over and back"));
  child->in().reset();
  EXPECT_EQ(read_all(child->out().get(), 100).value(), "over and back");
}

TEST(ChildProcess, SendsStandardOutputToStandardError) {
  ChildOptions options = shell("echo misplaced");
  options.out = Stream::kToStderr;
  options.err = Stream::kPipe;
  OrError<ChildProcess> child = ChildProcess::start(options);
  ASSERT_TRUE(child);
  EXPECT_EQ(read_all(child->err().get(), 100).value(), "misplaced\n");
}

TEST(ChildProcess, InheritsNoEnvironment) {
  ::setenv("KF_TEST_KEY", "secret", 1);
  ChildOptions options = shell("echo [$KF_TEST_KEY$GIVEN]");
  options.environment = {"GIVEN=yes"};
  EXPECT_EQ(output_of(options), "[yes]\n");
  options.inherit_environment = true;
  EXPECT_EQ(output_of(options), "[secret]\n");
  ::unsetenv("KF_TEST_KEY");
}

TEST(ChildProcess, FiltersTheEnvironmentByName) {
  ::setenv("KF_TEST_API_KEY", "secret", 1);
  for (const std::string& entry : environment_where([](std::string_view name) { return !name.ends_with("_KEY"); })) {
    EXPECT_EQ(entry.find("secret"), std::string::npos) << entry;
  }
  ::unsetenv("KF_TEST_API_KEY");
}

TEST(ChildProcess, InheritsNoDescriptor) {
  const int leak = ::dup(2);  // without close-on-exec, as a careless library would
  const std::string listing = output_of(shell("ls /proc/self/fd | sort -n | tail -1"));
  EXPECT_LE(std::atoi(listing.c_str()), 4) << listing;  // 3: the folder that ls reads; 4: the shell's own
  ::close(leak);
}

TEST(ChildProcess, HandsOverNamedDescriptors) {
  DescriptorPair pipe = make_pipe().value();
  ChildOptions options = shell("echo through seven >&7");
  options.descriptors = {{pipe.write.get(), 7}};
  OrError<ChildProcess> child = ChildProcess::start(options);
  ASSERT_TRUE(child);
  pipe.write.reset();
  EXPECT_EQ(read_all(pipe.read.get(), 100).value(), "through seven\n");
}

TEST(ChildProcess, SwapsDescriptorsWithoutLosingOne) {
  DescriptorPair first = make_pipe().value();
  DescriptorPair second = make_pipe().value();
  ChildOptions options = shell("echo a >&" + std::to_string(first.write.get() % 10) + "; true");
  // Each source's number is the other one's target.
  options.descriptors = {{first.write.get(), second.write.get()}, {second.write.get(), first.write.get()}};
  options.argv = {"/bin/bash", "-c",
                  "echo to-second >&" + std::to_string(first.write.get()) + "; echo to-first >&" +
                      std::to_string(second.write.get())};
  OrError<ChildProcess> child = ChildProcess::start(options);
  ASSERT_TRUE(child);
  first.write.reset();
  second.write.reset();
  EXPECT_EQ(read_all(first.read.get(), 100).value(), "to-first\n");
  EXPECT_EQ(read_all(second.read.get(), 100).value(), "to-second\n");
}

TEST(ChildProcess, StopsWaitingAtTheDeadlineAndKillsTheGroup) {
  OrError<ChildProcess> child = ChildProcess::start(shell("sleep 1000 & sleep 1000"));
  ASSERT_TRUE(child);
  EXPECT_FALSE(child->wait(50ms));
  child->kill();
  const auto exit = child->wait(10s);
  ASSERT_TRUE(exit);
  EXPECT_EQ(exit->signal, SIGKILL);
  // The grandchild held the pipe's write end: the stream ends only when it is dead too.
  EXPECT_EQ(read_all(child->out().get(), 100).value(), "");
}

TEST(ChildProcess, KillsWhatALeaderLeavesBehind) {
  OrError<ChildProcess> child = ChildProcess::start(shell("sleep 1000 & exit 0"));
  ASSERT_TRUE(child);
  ASSERT_TRUE(child->wait(10s));
  EXPECT_EQ(read_all(child->out().get(), 100).value(), "");
}

TEST(ChildProcess, DestructorKillsTheGroup) {
  Descriptor out;
  {
    OrError<ChildProcess> child = ChildProcess::start(shell("sleep 1000 & sleep 1000"));
    ASSERT_TRUE(child);
    out = std::move(child->out());
  }
  EXPECT_EQ(read_all(out.get(), 100).value(), "");
}

TEST(ChildProcess, StopsWaitingWhenAskedTo) {
  OrError<ChildProcess> child = ChildProcess::start(shell("sleep 1000"));
  ASSERT_TRUE(child);
  std::stop_source stop;
  std::jthread asker([&] { stop.request_stop(); });
  EXPECT_FALSE(child->wait(-1ms, stop.get_token()));
}

TEST(ChildProcess, LimitsFileSize) {
  ChildOptions options = shell(
      "head -c 100000 /dev/zero > /tmp/kf_os_limit.$$; s=$?; wc -c < /tmp/kf_os_limit.$$; rm /tmp/kf_os_limit.$$; exit "
      "$s");
  options.file_size_bytes = 4096;
  EXPECT_EQ(output_of(options), "4096\n");
}

TEST(ChildProcess, LimitsOpenFilesAndTurnsCoreDumpsOff) {
  ChildOptions options = shell("ulimit -n; ulimit -c");
  options.open_files = 33;
  EXPECT_EQ(output_of(options), "33\n0\n");
}

TEST(ChildProcess, RestoresSignalsThatWeIgnore) {
  struct sigaction ignore{}, old{};
  ignore.sa_handler = SIG_IGN;
  ::sigaction(SIGPIPE, &ignore, &old);
  OrError<ChildProcess> child = ChildProcess::start(shell("kill -PIPE $$; exit 0"));
  ::sigaction(SIGPIPE, &old, nullptr);
  ASSERT_TRUE(child);
  EXPECT_EQ(child->wait(10s)->signal, SIGPIPE);
}

TEST(ChildProcess, ForkRunsAFunctionAndGivesItsResult) {
  OrError<ChildProcess> child = ChildProcess::fork({}, [] { return ::getpid() == ::getpgrp() ? 12 : 13; });
  ASSERT_TRUE(child);
  EXPECT_EQ(child->wait(10s)->code, 12);
}

TEST(ChildProcess, KeepsALimitOfItsOwnThatIsLower) {
  ChildOptions low;
  low.open_files = 33;
  OrError<ChildProcess> child = ChildProcess::fork(low, [] {
    ChildOptions options = shell("ulimit -n");
    options.open_files = 64;
    return output_of(options) == "33\n" ? 0 : 2;
  });
  ASSERT_TRUE(child);
  EXPECT_EQ(child->wait(10s)->code, 0);
}

TEST(ChildProcess, ForkedFunctionThatThrowsExitsWithOne) {
  OrError<ChildProcess> child = ChildProcess::fork({}, []() -> int { throw Fatal("no"); });
  ASSERT_TRUE(child);
  EXPECT_EQ(child->wait(10s)->code, 1);
}

TEST(ChildProcess, ForkedFunctionSeesOnlyItsDescriptors) {
  DescriptorPair pipe = make_pipe().value();
  ChildOptions options;
  options.descriptors = {{pipe.write.get(), 5}};
  const int source = pipe.write.get();
  OrError<ChildProcess> child = ChildProcess::fork(options, [source] {
    const bool gone = source == 5 || ::fcntl(source, F_GETFD) < 0;
    return gone && write_all(5, "ok") ? 0 : 1;
  });
  ASSERT_TRUE(child);
  EXPECT_TRUE(child->wait(10s)->ok());
  EXPECT_EQ(read_some(pipe.read.get()).value(), "ok");
}

TEST(ChildProcess, DiesWithItsParent) {
  DescriptorPair pipe = make_pipe().value();
  ChildOptions options;
  options.descriptors = {{pipe.write.get(), 5}};
  OrError<ChildProcess> parent = ChildProcess::fork(options, [] {
    ChildOptions inner;
    inner.argv = {"/bin/sleep", "1000"};
    inner.descriptors = {{5, 5}};
    inner.die_with_parent = true;
    OrError<ChildProcess> child = ChildProcess::start(inner);
    ::kill(::getpid(), SIGKILL);
    return child ? 0 : 1;
  });
  ASSERT_TRUE(parent);
  pipe.write.reset();
  ASSERT_EQ(wait_readable(pipe.read.get(), 10s, {}), Ready::kReadable);
  EXPECT_EQ(read_some(pipe.read.get()).value(), "");  // the sleeper held the other end
}

TEST(ChildProcess, CanBeStartedFromManyThreadsAtOnce) {
  std::vector<std::jthread> threads;
  std::atomic<int> right = 0;
  for (int i = 0; i < 8; ++i) {
    threads.emplace_back(
        [&right, i] { right += output_of(shell("echo " + std::to_string(i))) == std::to_string(i) + "\n"; });
  }
  threads.clear();
  EXPECT_EQ(right, 8);
}

TEST(Descriptor, WriteToAGoneReaderIsAnError) {
  DescriptorPair pipe = make_pipe().value();
  pipe.read.reset();
  const OrError<void> wrote = write_all(pipe.write.get(), "anyone?");
  ASSERT_FALSE(wrote);
  EXPECT_EQ(wrote.error().what, "write: Broken pipe");
}

TEST(Descriptor, ReadAllRefusesMoreThanItsLimit) {
  DescriptorPair pipe = make_pipe().value();
  ASSERT_TRUE(write_all(pipe.write.get(), "12345"));
  pipe.write.reset();
  EXPECT_FALSE(read_all(pipe.read.get(), 4));
}

TEST(WaitReadable, ReportsTimeStopAndData) {
  DescriptorPair pipe = make_pipe().value();
  EXPECT_EQ(wait_readable(pipe.read.get(), 1ms, {}), Ready::kTimeout);
  std::stop_source stop;
  stop.request_stop();
  EXPECT_EQ(wait_readable(pipe.read.get(), 10s, stop.get_token()), Ready::kStopped);
  ASSERT_TRUE(write_all(pipe.write.get(), "x"));
  EXPECT_EQ(wait_readable(pipe.read.get(), 10s, {}), Ready::kReadable);
}

}  // namespace
}  // namespace kf
