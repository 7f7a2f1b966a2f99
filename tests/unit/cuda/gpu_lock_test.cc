// SPDX-License-Identifier: Apache-2.0
#include "cuda/gpu_lock.h"

#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <optional>
#include <thread>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace kf::cuda {
namespace {

using namespace std::chrono_literals;
using testing::HasSubstr;

struct GpuLockTest : testing::Test {
  GpuLockTest() {
    std::string pattern = testing::TempDir() + "kf-lock-XXXXXX";
    folder = mkdtemp(pattern.data());
  }
  ~GpuLockTest() override { std::filesystem::remove_all(folder); }
  std::string folder;
};

TEST_F(GpuLockTest, IsHeldByOneAtATimeAndNamesTheHolder) {
  auto first = GpuLock::acquire(folder, "GPU-1", 0ms);
  ASSERT_TRUE(first);
  const auto second = GpuLock::acquire(folder, "GPU-1", 30ms);
  ASSERT_FALSE(second);
  EXPECT_THAT(second.error().what, HasSubstr("process " + std::to_string(getpid())));
  EXPECT_TRUE(GpuLock::acquire(folder, "GPU-2", 0ms));  // another GPU is another lock
}

TEST_F(GpuLockTest, SaysWhenItWaitsAndWhenItHasWaited) {
  std::vector<bool> said;
  const auto listen = [&said](bool waits) { said.push_back(waits); };
  {
    auto first = GpuLock::acquire(folder, "GPU-1", 0ms, listen);
    ASSERT_TRUE(first);
    EXPECT_TRUE(said.empty());
    EXPECT_FALSE(GpuLock::acquire(folder, "GPU-1", 50ms, listen));
    EXPECT_EQ(said, (std::vector<bool>{true, false}));
    std::jthread leaves([held = std::move(*first)]() mutable {
      std::this_thread::sleep_for(60ms);
      const GpuLock gone = std::move(held);
    });
    EXPECT_TRUE(GpuLock::acquire(folder, "GPU-1", 10'000ms, listen));
  }
  EXPECT_EQ(said, (std::vector<bool>{true, false, true, false}));
}

TEST_F(GpuLockTest, IsFreeAgainWhenItsHolderGoes) {
  {
    ASSERT_TRUE(GpuLock::acquire(folder, "GPU-1", 0ms));
  }
  EXPECT_TRUE(GpuLock::acquire(folder, "GPU-1", 0ms));
}

TEST_F(GpuLockTest, IsFreeAgainWhenItsHolderIsKilled) {
  int ready[2];
  ASSERT_EQ(pipe(ready), 0);
  const pid_t child = fork();
  if (child == 0) {
    const auto lock = GpuLock::acquire(folder, "GPU-1", 0ms);
    [[maybe_unused]] const ssize_t sent = write(ready[1], lock ? "y" : "n", 1);
    pause();
    _exit(0);
  }
  char answer = 0;
  ASSERT_EQ(read(ready[0], &answer, 1), 1);
  ASSERT_EQ(answer, 'y');
  EXPECT_FALSE(GpuLock::acquire(folder, "GPU-1", 0ms));
  kill(child, SIGKILL);
  waitpid(child, nullptr, 0);
  EXPECT_TRUE(GpuLock::acquire(folder, "GPU-1", 1000ms));
  close(ready[0]);
  close(ready[1]);
}

TEST_F(GpuLockTest, ReplacesWhatAnEarlierHolderWrote) {
  {
    std::ofstream(folder + "/kfactory-gpu-GPU-1.lock") << "a much longer text than ours will be, with \x1b[31m colours";
  }
  const auto lock = GpuLock::acquire(folder, "GPU-1", 0ms);
  ASSERT_TRUE(lock);
  std::string line;
  std::getline(std::ifstream(folder + "/kfactory-gpu-GPU-1.lock"), line);
  EXPECT_EQ(line, "kfactory, process " + std::to_string(getpid()));
}

TEST_F(GpuLockTest, FollowsNoLink) {
  std::ofstream(folder + "/precious") << "data";
  ASSERT_EQ(symlink((folder + "/precious").c_str(), (folder + "/kfactory-gpu-GPU-1.lock").c_str()), 0);
  EXPECT_FALSE(GpuLock::acquire(folder, "GPU-1", 0ms));
  std::string text;
  std::getline(std::ifstream(folder + "/precious"), text);
  EXPECT_EQ(text, "data");
}

TEST_F(GpuLockTest, SaysWhereItLooked) {
  const auto lock = GpuLock::acquire(folder + "/nowhere", "GPU-1", 0ms);
  ASSERT_FALSE(lock);
  EXPECT_THAT(to_string(lock.error()), HasSubstr("nowhere/kfactory-gpu-GPU-1.lock"));
}

}  // namespace
}  // namespace kf::cuda
