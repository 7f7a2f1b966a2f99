// SPDX-License-Identifier: Apache-2.0
#include <dlfcn.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>

#include "os/atomic_file.h"
#include "os/child_process.h"
#include "os/shared_library.h"

namespace kf {
namespace {

using namespace std::chrono_literals;

class AtomicFile : public testing::Test {
 protected:
  void SetUp() override {
    folder_ = testing::TempDir() + "kf_files_" + std::to_string(::getpid());
    std::filesystem::create_directories(folder_);
  }
  void TearDown() override { std::filesystem::remove_all(folder_); }
  std::size_t files() const {
    return static_cast<std::size_t>(std::distance(std::filesystem::directory_iterator(folder_), {}));
  }
  std::string folder_;
};

TEST_F(AtomicFile, HoldsWhatWasWritten) {
  const std::string text("a\0b\n", 4);
  ASSERT_TRUE(write_file_atomically(folder_ + "/f", text));
  EXPECT_EQ(read_file(folder_ + "/f").value(), text);
  EXPECT_EQ(files(), 1U);
}

TEST_F(AtomicFile, MayBeMadeDurableLaterWithItsWholeFileSystem) {
  ASSERT_TRUE(write_file_atomically(folder_ + "/f", "now", Durable::kNow));
  ASSERT_TRUE(write_file_atomically(folder_ + "/f", "later", Durable::kLater));
  EXPECT_EQ(read_file(folder_ + "/f").value(), "later");
  EXPECT_EQ(files(), 1U);
  EXPECT_TRUE(sync_file_system(folder_));
  EXPECT_EQ(sync_file_system(folder_ + "/missing").error().where, folder_ + "/missing");
}

TEST_F(AtomicFile, ReplacesAndKeepsTheUsualPermissions) {
  ASSERT_TRUE(write_file_atomically(folder_ + "/f", "old"));
  ASSERT_TRUE(write_file_atomically(folder_ + "/f", "new"));
  EXPECT_EQ(read_file(folder_ + "/f").value(), "new");
  struct stat status{};
  ASSERT_EQ(::stat((folder_ + "/f").c_str(), &status), 0);
  const mode_t mask = ::umask(0);
  ::umask(mask);
  EXPECT_EQ(status.st_mode & 0777, 0666 & ~mask);
}

TEST_F(AtomicFile, LeavesTheOldContentAndNoRubbishWhenTheDiskIsFull) {
  ASSERT_TRUE(write_file_atomically(folder_ + "/f", "old"));
  ChildOptions options;
  options.file_size_bytes = 10;
  OrError<ChildProcess> child = ChildProcess::fork(options, [&] {
    ::signal(SIGXFSZ, SIG_IGN);
    return write_file_atomically(folder_ + "/f", std::string(100, 'x')) ? 1 : 0;
  });
  ASSERT_TRUE(child);
  EXPECT_TRUE(child->wait(10s)->ok());
  EXPECT_EQ(read_file(folder_ + "/f").value(), "old");
  EXPECT_EQ(files(), 1U);
}

TEST_F(AtomicFile, NamesTheFolderThatIsMissing) {
  const auto wrote = write_file_atomically(folder_ + "/no/f", "x");
  ASSERT_FALSE(wrote);
  EXPECT_EQ(wrote.error().where, folder_ + "/no/f");
}

TEST_F(AtomicFile, ReadRefusesWhatIsTooLongOrNoFile) {
  ASSERT_TRUE(write_file_atomically(folder_ + "/f", "12345"));
  EXPECT_FALSE(read_file(folder_ + "/f", 4));
  EXPECT_TRUE(read_file(folder_ + "/f", 5));
  EXPECT_FALSE(read_file(folder_));
  EXPECT_FALSE(read_file(folder_ + "/missing"));
  ASSERT_EQ(::mkfifo((folder_ + "/pipe").c_str(), 0600), 0);
  EXPECT_FALSE(read_file(folder_ + "/pipe"));  // and does not hang
}

TEST(SharedLibrary, OpensTheFirstThatIsThere) {
  const std::vector<std::string> names{"libnope.so.1", "libm.so.6"};
  const auto library = SharedLibrary::open("mathematics", names);
  ASSERT_TRUE(library) << to_string(library.error());
  EXPECT_NE(library->path().find("libm.so.6"), std::string::npos);
  EXPECT_EQ(library->path().front(), '/');
  const auto cosine = library->function<double(double)>("cos");
  ASSERT_NE(cosine, nullptr);
  EXPECT_EQ(cosine(0.0), 1.0);
  EXPECT_EQ(library->symbol("no_such_symbol"), nullptr);
}

// Its threads, exit handlers and allocations outlive the last user of a handle.
TEST(SharedLibrary, StaysWhenItsLastHandleIsGone) {
  const std::vector<std::string> names{"libanl.so.1"};  // comes with glibc; nothing here needs it
  ASSERT_EQ(::dlopen(names[0].c_str(), RTLD_NOW | RTLD_NOLOAD), nullptr);
  ASSERT_TRUE(SharedLibrary::open("lookups", names));
  EXPECT_NE(::dlopen(names[0].c_str(), RTLD_NOW | RTLD_NOLOAD), nullptr);
}

TEST(SharedLibrary, SaysWhereItLookedAndWhyEachFailed) {
  const std::vector<std::string> names{"libnope.so.1", "/no/such/libnope.so.2"};
  const auto library = SharedLibrary::open("nothing", names);
  ASSERT_FALSE(library);
  const std::string message = to_string(library.error());
  for (const char* part : {"nothing", "libnope.so.1: ", "/no/such/libnope.so.2: ", "LD_LIBRARY_PATH"}) {
    EXPECT_NE(message.find(part), std::string::npos) << message;
  }
}

}  // namespace
}  // namespace kf
