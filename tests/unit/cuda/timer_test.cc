// SPDX-License-Identifier: Apache-2.0
#include "cuda/timer.h"

#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace kf::cuda {
namespace {

using testing::HasSubstr;
using Kind = Activity::Kind;

const std::vector<QueuedOperation> kQueued{
    {-1, Kind::kKernel, "kf_gate", {1, 1, 1}},  {0, Kind::kMemset, "", {}},
    {0, Kind::kKernel, "rows", {8, 2, 1}},      {0, Kind::kKernel, "sum", {1, 1, 1}},
    {-1, Kind::kKernel, "kf_flush", {4, 1, 1}}, {1, Kind::kKernel, "rows", {8, 2, 1}}};

std::vector<Activity> seen() {
  return {{Kind::kKernel, "kf_gate", {1, 1, 1}, {}, 10, 90, 1},    {Kind::kMemset, "", {}, {}, 100, 110, 2},
          {Kind::kKernel, "rows", {8, 2, 1}, {}, 120, 300, 3},     {Kind::kKernel, "sum", {1, 1, 1}, {}, 200, 250, 4},
          {Kind::kKernel, "kf_flush", {4, 1, 1}, {}, 310, 400, 5}, {Kind::kKernel, "rows", {8, 2, 1}, {}, 500, 620, 6}};
}

TEST(SlotSpans, ReachFromTheFirstStartToTheLastEndOfASlot) {
  const auto spans = slot_spans(kQueued, seen(), 2);
  ASSERT_TRUE(spans);
  EXPECT_THAT(*spans, testing::ElementsAre(200.0, 120.0));  // the flush is in neither, the memset is in the first
}

TEST(SlotSpans, RefuseAMissingOrAnAdditionalOperation) {
  auto records = seen();
  records.pop_back();
  EXPECT_THAT(slot_spans(kQueued, records, 2).error().detail, HasSubstr("saw 5 operations, 6 were queued"));
}

TEST(SlotSpans, RefuseAnotherKernelAndAnotherGrid) {
  auto records = seen();
  records[2].name = "columns";
  EXPECT_THAT(slot_spans(kQueued, records, 2).error().detail, HasSubstr("\"columns\", queued was \"rows\""));
  records = seen();
  records[2].grid = {7, 2, 1};
  EXPECT_THAT(slot_spans(kQueued, records, 2).error().detail, HasSubstr("another grid"));
  records = seen();
  records[1].kind = Kind::kMemcpy;
  EXPECT_FALSE(slot_spans(kQueued, records, 2));
}

TEST(SlotSpans, RefuseRecordsWithoutTimes) {
  auto records = seen();
  records[3].start = records[3].end = 0;
  EXPECT_THAT(slot_spans(kQueued, records, 2).error().detail, HasSubstr("no times"));
}

TEST(TimedGroups, AreSingleSlotsUnlessTheStateIsSteady) {
  const std::vector<std::int32_t> arms{0, 0, 1, 1, 1, 0};
  EXPECT_EQ(timed_groups(arms, CacheState::kCold).size(), 6u);
  EXPECT_EQ(timed_groups(arms, CacheState::kWarm).size(), 6u);
  const auto steady = timed_groups(arms, CacheState::kSteady);
  ASSERT_EQ(steady.size(), 3u);
  EXPECT_EQ(steady[1].first, 2);
  EXPECT_EQ(steady[1].count, 3);
  EXPECT_TRUE(timed_groups({}, CacheState::kSteady).empty());
}

}  // namespace
}  // namespace kf::cuda
