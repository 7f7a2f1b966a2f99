// SPDX-License-Identifier: Apache-2.0
#include "os/sandbox.h"

#include <gtest/gtest.h>
#include <netinet/in.h>
#include <signal.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cerrno>
#include <filesystem>
#include <fstream>

#include "os/atomic_file.h"
#include "os/child_process.h"

namespace kf {
namespace {

using namespace std::chrono_literals;

class Sandbox : public testing::Test {
 protected:
  void SetUp() override {
    if (landlock_abi() == 0) {
      GTEST_SKIP() << sandbox_status();
    }
    folder_ = testing::TempDir() + "kf_sandbox_" + std::to_string(::getpid());
    std::filesystem::create_directories(folder_ + "/open");
    std::filesystem::create_directories(folder_ + "/scratch");
    std::ofstream(folder_ + "/secret") << "secret";
    std::ofstream(folder_ + "/open/header") << "text";
  }
  void TearDown() override { std::filesystem::remove_all(folder_); }

  // The exit code of `body` run behind the rules: one folder to read, one to write.
  int inside(const std::function<int()>& body) {
    OrError<ChildProcess> child = ChildProcess::fork({}, [&] {
      const OrError<bool> entered = enter_sandbox({{folder_ + "/open"}, {folder_ + "/scratch"}});
      return entered && *entered ? body() : 99;
    });
    return child ? child->wait(10s)->code : 98;
  }
  std::string folder_;
};

TEST_F(Sandbox, ReadsWhatIsAllowedAndNothingElse) {
  EXPECT_EQ(inside([&] { return read_file(folder_ + "/open/header") ? 0 : 1; }), 0);
  EXPECT_EQ(inside([&] { return read_file(folder_ + "/secret") ? 1 : 0; }), 0);
  EXPECT_EQ(inside([&] { return read_file("/etc/passwd") ? 1 : 0; }), 0);
}

TEST_F(Sandbox, DoesNotFollowALinkOut) {
  std::filesystem::create_symlink(folder_ + "/secret", folder_ + "/open/link");
  EXPECT_EQ(inside([&] { return read_file(folder_ + "/open/link") ? 1 : 0; }), 0);
}

TEST_F(Sandbox, WritesOnlyInTheScratchFolder) {
  EXPECT_EQ(inside([&] { return write_file_atomically(folder_ + "/scratch/a", "x") ? 0 : 1; }), 0);
  EXPECT_EQ(inside([&] { return write_file_atomically(folder_ + "/open/a", "x") ? 1 : 0; }), 0);
  EXPECT_EQ(inside([&] { return ::truncate((folder_ + "/open/header").c_str(), 0) == 0 ? 1 : 0; }), 0);
}

TEST_F(Sandbox, ExecutesNothing) {
  EXPECT_EQ(inside([&] { return ::execl("/bin/true", "true", nullptr) == -1 && errno == EACCES ? 0 : 1; }), 0);
}

TEST_F(Sandbox, ReachesNoNetworkWhereTheKernelCanForbidIt) {
  if (landlock_abi() < 4) {
    GTEST_SKIP() << sandbox_status();
  }
  EXPECT_EQ(inside([] {
              const Descriptor socket(::socket(AF_INET, SOCK_STREAM, 0));
              sockaddr_in address{};
              address.sin_family = AF_INET;
              address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
              address.sin_port = htons(9);
              return ::connect(socket.get(), reinterpret_cast<sockaddr*>(&address), sizeof address) == -1 &&
                             errno == EACCES
                         ? 0
                         : 1;
            }),
            0);
}

TEST_F(Sandbox, SignalsNoOneOutsideWhereTheKernelCanForbidIt) {
  if (landlock_abi() < 6) {
    GTEST_SKIP() << sandbox_status();
  }
  EXPECT_EQ(inside([] { return ::kill(::getppid(), 0) == -1 && errno == EPERM ? 0 : 1; }), 0);
}

TEST_F(Sandbox, NamesAFolderThatIsMissing) {
  OrError<ChildProcess> child = ChildProcess::fork({}, [] {
    const OrError<bool> entered = enter_sandbox({{"/no/such/folder"}, {}});
    return !entered && entered.error().what.find("/no/such/folder") != std::string::npos ? 0 : 1;
  });
  ASSERT_TRUE(child);
  EXPECT_TRUE(child->wait(10s)->ok());
}

TEST(SandboxStatus, SaysWhatThisKernelHas) {
  EXPECT_EQ(sandbox_status().starts_with("Landlock ABI "), landlock_abi() > 0) << sandbox_status();
}

}  // namespace
}  // namespace kf
