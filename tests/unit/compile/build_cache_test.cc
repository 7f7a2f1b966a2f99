// SPDX-License-Identifier: Apache-2.0
#include "compile/build_cache.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>

#include "os/atomic_file.h"

namespace kf {
namespace {

class FolderCacheTest : public testing::Test {
 protected:
  void SetUp() override { folder_ = testing::TempDir() + "kf_cache_" + std::to_string(::getpid()); }
  void TearDown() override { std::filesystem::remove_all(folder_); }
  static NvrtcOutput output() {
    NvrtcOutput made;
    made.log = "log";
    made.ptx = ".version 9.0";
    made.cubin = {std::byte{1}, std::byte{0}, std::byte{2}};
    return made;
  }
  std::string folder_;
};

TEST_F(FolderCacheTest, FindsWhatWasPut) {
  const FolderCache cache(folder_);
  const Digest id = sha256("a");
  EXPECT_FALSE(cache.find(id));
  cache.put(id, output());
  const auto found = cache.find(id);
  ASSERT_TRUE(found);
  EXPECT_EQ(found->log, "log");
  EXPECT_EQ(found->ptx, ".version 9.0");
  EXPECT_EQ(found->cubin, output().cubin);
  EXPECT_FALSE(cache.find(sha256("b")));
}

TEST_F(FolderCacheTest, TakesEveryDamageAsAMiss) {
  const FolderCache cache(folder_);
  const Digest id = sha256("a");
  cache.put(id, output());
  const std::string whole = read_file(cache.path_of(id)).value();
  for (std::size_t i = 0; i < whole.size(); ++i) {
    std::string damaged = whole;
    damaged[i] = static_cast<char>(damaged[i] ^ 1);
    ASSERT_TRUE(write_file_atomically(cache.path_of(id), damaged));
    EXPECT_FALSE(cache.find(id)) << "byte " << i;
    ASSERT_TRUE(write_file_atomically(cache.path_of(id), whole.substr(0, i)));
    EXPECT_FALSE(cache.find(id)) << "first " << i << " bytes";
  }
}

TEST_F(FolderCacheTest, TakesAnEntryUnderAnotherNameAsAMiss) {
  const FolderCache cache(folder_);
  cache.put(sha256("a"), output());
  std::filesystem::create_directories(std::filesystem::path(cache.path_of(sha256("b"))).parent_path());
  std::filesystem::copy_file(cache.path_of(sha256("a")), cache.path_of(sha256("b")));
  EXPECT_FALSE(cache.find(sha256("b")));
}

TEST_F(FolderCacheTest, GoesOnWhereNothingCanBeWritten) {
  const FolderCache cache("/proc/no/such/folder");
  cache.put(sha256("a"), output());
  EXPECT_FALSE(cache.find(sha256("a")));
}

Build build_of(const std::string& name, std::size_t bytes) {
  Build build;
  build.id = sha256(name);
  build.ptx.assign(bytes, 'x');
  return build;
}

TEST(MemoryCache, DropsTheLeastRecentlyUsed) {
  MemoryCache cache(10'000);
  cache.put(build_of("a", 3000));
  cache.put(build_of("b", 3000));
  ASSERT_TRUE(cache.find(sha256("a")));  // now b is the oldest
  cache.put(build_of("c", 3000));
  EXPECT_TRUE(cache.find(sha256("a")));
  EXPECT_FALSE(cache.find(sha256("b")));
  EXPECT_TRUE(cache.find(sha256("c")));
}

TEST(MemoryCache, KeepsNothingAboveItsLimit) {
  MemoryCache cache(10'000);
  cache.put(build_of("a", 20'000));
  EXPECT_FALSE(cache.find(sha256("a")));
}

}  // namespace
}  // namespace kf
