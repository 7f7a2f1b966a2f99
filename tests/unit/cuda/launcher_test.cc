// SPDX-License-Identifier: Apache-2.0
#include "cuda/launcher.h"

#include <random>
#include <set>

#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace kf::cuda {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

TEST(StreamPlan, PutsAChainOnOneStreamWithoutWaits) {
  const std::vector<std::vector<int>> after{{}, {0}, {1}, {2}};
  const StreamPlan plan = plan_streams(after);
  EXPECT_EQ(plan.streams, 1);
  EXPECT_THAT(plan.stream, ElementsAre(0, 0, 0, 0));
  EXPECT_THAT(plan.joins, IsEmpty());
  for (const auto& waits : plan.waits) {
    EXPECT_THAT(waits, IsEmpty());
  }
}

TEST(StreamPlan, ForksADiamondAndJoinsIt) {
  const std::vector<std::vector<int>> after{{}, {0}, {0}, {1, 2}};
  const StreamPlan plan = plan_streams(after);
  EXPECT_EQ(plan.streams, 2);
  EXPECT_THAT(plan.stream, ElementsAre(0, 0, 1, 0));
  EXPECT_THAT(plan.waits[2], ElementsAre(0));
  EXPECT_THAT(plan.waits[3], ElementsAre(2));
  EXPECT_THAT(plan.joins, ElementsAre(2));
}

TEST(StreamPlan, IndependentLaunchesRunSideBySideAndAreAllJoined) {
  const std::vector<std::vector<int>> after(3);
  const StreamPlan plan = plan_streams(after);
  EXPECT_THAT(plan.stream, ElementsAre(0, 1, 2));
  EXPECT_THAT(plan.joins, ElementsAre(1, 2));
}

TEST(StreamPlan, NeedsNothingForAnEmptyPlan) {
  const StreamPlan plan = plan_streams({});
  EXPECT_EQ(plan.streams, 1);
  EXPECT_THAT(plan.joins, IsEmpty());
}

// What must hold whatever the streams: a launch comes behind each that it waits for, by stream order or by waits, and
// the join comes behind everything.
TEST(StreamPlan, OrdersEveryRandomGraph) {
  std::mt19937 random(3);
  for (int trial = 0; trial < 300; ++trial) {
    const int count = 1 + static_cast<int>(random() % 60);
    std::vector<std::vector<int>> after(static_cast<std::size_t>(count));
    for (int i = 1; i < count; ++i) {
      for (int tries = static_cast<int>(random() % 4); tries > 0; --tries) {
        after[static_cast<std::size_t>(i)].push_back(static_cast<int>(random() % static_cast<unsigned>(i)));
      }
    }
    const StreamPlan plan = plan_streams(after);
    ASSERT_LE(plan.streams, 16);
    std::vector<std::set<int>> done(static_cast<std::size_t>(count));  // launches known to have ended before each
    std::vector<int> last(static_cast<std::size_t>(plan.streams), -1);
    for (std::size_t i = 0; i < after.size(); ++i) {
      std::vector<int> direct = plan.waits[i];
      const auto stream = static_cast<std::size_t>(plan.stream[i]);
      if (last[stream] >= 0) {
        direct.push_back(last[stream]);
      }
      for (const int before : direct) {
        done[i].insert(before);
        done[i].insert(done[static_cast<std::size_t>(before)].begin(), done[static_cast<std::size_t>(before)].end());
      }
      last[stream] = static_cast<int>(i);
      for (const int before : after[i]) {
        ASSERT_TRUE(done[i].contains(before)) << "launch " << i << " does not wait for " << before;
      }
    }
    std::set<int> joined(plan.joins.begin(), plan.joins.end());
    for (std::size_t stream = 1; stream < last.size(); ++stream) {
      ASSERT_TRUE(joined.contains(last[stream]));
    }
  }
}

}  // namespace
}  // namespace kf::cuda
