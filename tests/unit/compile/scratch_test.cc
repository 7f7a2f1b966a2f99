// SPDX-License-Identifier: Apache-2.0
#include "compile/scratch.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>

namespace kf {
namespace {

namespace fs = std::filesystem;

class Scratch : public testing::Test {
 protected:
  Scratch() { fs::create_directories(parent_); }
  ~Scratch() override { fs::remove_all(parent_); }
  fs::path folder(const std::string& name, int seconds_old) const {
    fs::create_directories(parent_ / name);
    std::ofstream(parent_ / name / "left") << "by a compiler";
    const timespec then{::time(nullptr) - seconds_old, 0};
    const timespec both[2] = {then, then};
    ::utimensat(AT_FDCWD, (parent_ / name).c_str(), both, 0);
    return parent_ / name;
  }
  fs::path parent_ = fs::path(testing::TempDir()) / ("kf_scratch_test_" + std::to_string(::getpid()));
};

TEST_F(Scratch, GoesWithItsObject) {
  std::string path;
  {
    const auto scratch = CompileScratch::make(parent_.string());
    ASSERT_TRUE(scratch);
    path = scratch->path();
    EXPECT_EQ(fs::status(path).permissions(), fs::perms::owner_all);
    std::ofstream(path + "/file") << "x";
  }
  EXPECT_FALSE(fs::exists(path));
}

TEST_F(Scratch, OfAKilledProcessIsRemovedByTheNext) {
  const fs::path abandoned = folder("kf-compile-Ab3xYz", 100);
  remove_abandoned_scratch(parent_.string());
  EXPECT_FALSE(fs::exists(abandoned));
}

TEST_F(Scratch, ThatIsUsedIsNotRemovedHoweverOld) {
  auto scratch = CompileScratch::make(parent_.string());
  ASSERT_TRUE(scratch);
  (void)folder(fs::path(scratch->path()).filename().string(), 10'000);
  remove_abandoned_scratch(parent_.string());
  EXPECT_TRUE(fs::exists(scratch->path()));
}

TEST_F(Scratch, ThatIsYoungOrOfAnotherNameStays) {
  const fs::path young = folder("kf-compile-young0", 5), other = folder("somebody-elses", 10'000);
  fs::create_symlink(other, parent_ / "kf-compile-link00");
  remove_abandoned_scratch(parent_.string());
  EXPECT_TRUE(fs::exists(young));
  EXPECT_TRUE(fs::exists(other / "left"));
}

TEST_F(Scratch, SaysWhereItCannotBeMade) {
  const auto scratch = CompileScratch::make((parent_ / "missing").string());
  ASSERT_FALSE(scratch);
  EXPECT_NE(to_string(scratch.error()).find("missing"), std::string::npos);
}

}  // namespace
}  // namespace kf
