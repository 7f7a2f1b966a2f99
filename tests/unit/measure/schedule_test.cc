// SPDX-License-Identifier: Apache-2.0
#include "measure/schedule.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <set>

namespace kf {
namespace {

constexpr std::int64_t kMiB = 1 << 20;

TEST(Palindrome, HasEachArmTwiceAndReadsTheSameBackwards) {
  std::set<std::vector<std::int32_t>> orders;
  for (std::uint64_t seed = 0; seed < 200; ++seed) {
    const auto order = palindrome({0, 1, 2, 3}, seed);
    ASSERT_EQ(order.size(), 8U);
    EXPECT_TRUE(std::equal(order.begin(), order.end(), order.rbegin()));
    for (std::int32_t arm = 0; arm < 4; ++arm) {
      EXPECT_EQ(std::ranges::count(order, arm), 2);
    }
    orders.insert(order);
  }
  EXPECT_EQ(orders.size(), 24U);  // every order comes up
}

TEST(Palindrome, OfOneArmIsThatArmTwice) {
  EXPECT_THAT(palindrome({5}, 1), testing::ElementsAre(5, 5));
}

TEST(Rotation, HasASetForEachLaunchOfAQuad) {
  EXPECT_EQ(rotation_for(16 * kMiB, 60 * kMiB, 100'000 * kMiB, 8, CacheState::kCold).sets, 8);
}

TEST(Rotation, UsesOneSetAboveEightTimesTheL2) {
  EXPECT_EQ(rotation_for(481 * kMiB, 60 * kMiB, 100'000 * kMiB, 8, CacheState::kCold).sets, 1);
  EXPECT_EQ(rotation_for(480 * kMiB, 60 * kMiB, 100'000 * kMiB, 8, CacheState::kCold).sets, 8);
}

TEST(Rotation, PassesThreeL2SizesInTheSteadyState) {
  EXPECT_EQ(rotation_for(4 * kMiB, 60 * kMiB, 100'000 * kMiB, 8, CacheState::kSteady).sets, 46);
  EXPECT_EQ(rotation_for(1, 60 * kMiB, 100'000 * kMiB, 8, CacheState::kSteady).sets, 256);
}

TEST(Rotation, SaysWhenMemoryLimitsIt) {
  const Rotation rotation = rotation_for(100 * kMiB, 60 * kMiB, 350 * kMiB, 8, CacheState::kCold);
  EXPECT_EQ(rotation.sets, 3);
  EXPECT_TRUE(rotation.limited_by_memory);
  EXPECT_EQ(rotation_for(100 * kMiB, 60 * kMiB, 10 * kMiB, 8, CacheState::kCold).sets, 1);
  EXPECT_EQ(rotation_for(0, 60 * kMiB, 0, 8, CacheState::kCold).sets, 1);
}

TEST(VerificationPlan, ChoosesALaunchOfEachArmInTheFirstQuads) {
  for (std::uint64_t seed = 0; seed < 50; ++seed) {
    const VerificationPlan plan(4, 8, seed);
    for (std::int32_t arm = 0; arm < 4; ++arm) {
      int chosen = 0;
      for (std::int32_t quad = 0; quad < 8; ++quad) {
        chosen += plan.verifies(arm, quad, 0) + plan.verifies(arm, quad, 1);
      }
      EXPECT_GE(chosen, 1);
      EXPECT_TRUE(arm == 0 || chosen == 1);
    }
  }
}

TEST(VerificationPlan, ChoosesEveryPlaceForSomeSeed) {
  std::set<std::pair<int, int>> places;
  for (std::uint64_t seed = 0; seed < 500; ++seed) {
    const VerificationPlan plan(2, 4, seed);
    for (int quad = 0; quad < 4; ++quad) {
      for (int occurrence = 0; occurrence < 2; ++occurrence) {
        if (plan.verifies(1, quad, occurrence)) {
          places.emplace(quad, occurrence);
        }
      }
    }
  }
  EXPECT_EQ(places.size(), 8U);
}

TEST(VerificationPlan, GoesOnLookingAtTheCandidate) {
  const VerificationPlan plan(2, 4, 9);
  int later = 0;
  for (int quad = 4; quad < 404; ++quad) {
    later += plan.verifies(0, quad, 0) + plan.verifies(0, quad, 1);
    EXPECT_FALSE(plan.verifies(1, quad, 0));
  }
  EXPECT_GT(later, 25);
  EXPECT_LT(later, 80);
}

TEST(StoppingRule, LooksAtWidthsOnly) {
  CaseTiming timing;
  timing.arms = {"a", "b"};
  for (const double ratio : {0.5, 1.0, 2.0}) {
    timing.samples.clear();
    for (std::int32_t quad = 0; quad < 8; ++quad) {
      timing.samples.push_back({0, quad, 0, 1000 * ratio * (quad % 2 == 0 ? 1.001 : 0.999), 0});
      timing.samples.push_back({1, quad, 1, 1000, 0});
    }
    EXPECT_TRUE(narrow_enough(timing, {{0, 1}}, 0.0015));
    EXPECT_FALSE(narrow_enough(timing, {{0, 1}}, 0.0005));
  }
}

TEST(StoppingRule, GoesOnWithoutSamples) {
  CaseTiming timing;
  timing.arms = {"a", "b"};
  EXPECT_FALSE(narrow_enough(timing, {{0, 1}}, 0.01));
  EXPECT_EQ(log_half_width({}), std::numeric_limits<double>::infinity());
}

}  // namespace
}  // namespace kf
