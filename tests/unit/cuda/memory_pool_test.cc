// SPDX-License-Identifier: Apache-2.0
#include "cuda/memory_pool.h"

#include <gtest/gtest.h>

namespace kf::cuda {
namespace {

TEST(MemoryPool, RoundsUpToFewSizes) {
  EXPECT_EQ(MemoryPool::size_class(1), 256);
  EXPECT_EQ(MemoryPool::size_class(4096), 4096);
  EXPECT_EQ(MemoryPool::size_class(4097), 4608);
  EXPECT_EQ(MemoryPool::size_class(1LL << 30), 1LL << 30);
}

TEST(MemoryPool, NeverGivesLessThanAsked) {
  for (std::int64_t bytes = 1; bytes < MemoryPool::kLargest; bytes = bytes * 5 / 3 + 7) {
    EXPECT_GE(MemoryPool::size_class(bytes), bytes);
    EXPECT_EQ(MemoryPool::size_class(MemoryPool::size_class(bytes)), MemoryPool::size_class(bytes));
    EXPECT_EQ(MemoryPool::size_class(bytes) % 256, 0);
    EXPECT_LE(MemoryPool::size_class(bytes), std::max<std::int64_t>(256, bytes * 9 / 8 + 256));
  }
}

TEST(MemoryPool, TakesLargeBlocksAsTheyAre) {
  EXPECT_EQ(MemoryPool::size_class(MemoryPool::kLargest + 1), MemoryPool::kLargest + 1);
}

}  // namespace
}  // namespace kf::cuda
