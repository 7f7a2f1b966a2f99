// SPDX-License-Identifier: Apache-2.0
#include "factory/closed_attempts.h"

#include <gtest/gtest.h>

namespace kf {
namespace {

Attempt attempt(std::int64_t id) {
  Attempt of;
  of.id = {id};
  of.source = "source " + std::to_string(id);
  return of;
}

std::vector<std::int64_t> ids(std::span<const Attempt> attempts) {
  std::vector<std::int64_t> ids;
  for (const Attempt& of : attempts) {
    ids.push_back(of.id.value);
  }
  return ids;
}

TEST(ClosedAttempts, ShowWhatIsClosedWithoutGaps) {
  ClosedAttempts closed;
  closed.add(attempt(1));
  closed.add(attempt(3));
  EXPECT_TRUE(closed.all_up_to(1));
  EXPECT_FALSE(closed.all_up_to(2));
  EXPECT_EQ(ids(closed.up_to(3).all()), (std::vector<std::int64_t>{1}));
  EXPECT_TRUE(closed.up_to(-2).all().empty());
  closed.add(attempt(2));
  EXPECT_TRUE(closed.all_up_to(3));
  EXPECT_EQ(ids(closed.up_to(2).all()), (std::vector<std::int64_t>{1, 2}));
  EXPECT_EQ(ids(closed.up_to(9).all()), (std::vector<std::int64_t>{1, 2, 3}));
}

TEST(ClosedAttempts, AViewStaysWhateverIsAdded) {
  ClosedAttempts closed;
  closed.add(attempt(1));
  const VisibleAttempts first = closed.up_to(1);
  const Attempt* const where = first.all().data();
  for (std::int64_t id = 2; id <= 2'000; ++id) {
    closed.add(attempt(id));
  }
  EXPECT_EQ(first.all().size(), 1U);
  EXPECT_EQ(first.all().data(), where);
  EXPECT_EQ(first.all().front().source, "source 1");
  const std::span<const Attempt> all = closed.up_to(2'000).all();
  EXPECT_EQ(all.size(), 2'000U);
  EXPECT_EQ(all.back().source, "source 2000");
}

TEST(ClosedAttempts, GiveEverythingAwayAtTheEndAlsoBehindAGap) {
  ClosedAttempts closed;
  for (const std::int64_t id : {5, 1, 4, 2}) {
    closed.add(attempt(id));
  }
  EXPECT_EQ(ids(closed.take()), (std::vector<std::int64_t>{1, 2, 4, 5}));
  EXPECT_TRUE(closed.take().empty());
}

}  // namespace
}  // namespace kf
