// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <random>

#include <kfactory/measurement.h>

namespace kf {
namespace {

CaseTiming timing_of(const std::vector<std::string>& arms) {
  CaseTiming timing;
  timing.arms = arms;
  return timing;
}
// One quad: each arm's two launches.
void add_quad(CaseTiming& timing, const std::vector<double>& nanoseconds) {
  const std::int32_t quad = timing.samples.empty() ? 0 : timing.samples.back().quad + 1;
  for (int pass = 0; pass < 2; ++pass) {
    for (std::size_t arm = 0; arm < nanoseconds.size(); ++arm) {
      timing.samples.push_back({static_cast<std::int32_t>(arm), quad, 0, nanoseconds[arm], 0});
    }
  }
}

TEST(MedianInterval, OfNothingIsEmpty) {
  EXPECT_EQ(median_interval({}).samples, 0);
}

TEST(MedianInterval, OfOddAndEvenCounts) {
  EXPECT_EQ(median_interval({3, 1, 2}).median, 2);
  EXPECT_EQ(median_interval({4, 1, 2, 3}).median, 2.5);
}

TEST(MedianInterval, IsTheWholeRangeWhereFewValuesGiveNo95Percent) {
  const Interval interval = median_interval({5, 1, 3});
  EXPECT_EQ(interval.low, 1);
  EXPECT_EQ(interval.high, 5);
}

// Ranks from tables of the sign test at 95 %: n = 6: 1, 10: 2, 20: 6, 50: 18, 100: 40.
TEST(MedianInterval, UsesTheRanksOfTheSignTest) {
  for (const auto& [n, rank] : {std::pair{6, 1}, {10, 2}, {20, 6}, {50, 18}, {100, 40}}) {
    std::vector<double> values;
    for (int i = 1; i <= n; ++i) {
      values.push_back(i);
    }
    const Interval interval = median_interval(values);
    EXPECT_EQ(interval.low, rank) << n;
    EXPECT_EQ(interval.high, n + 1 - rank) << n;
  }
}

TEST(MedianInterval, DoesNotDependOnOrderAndScalesWithItsValues) {
  std::mt19937_64 random(1);
  for (int round = 0; round < 200; ++round) {
    std::vector<double> values(random() % 60 + 1);
    for (double& value : values) {
      value = static_cast<double>(random() % 1000 + 1);
    }
    const Interval first = median_interval(values);
    std::ranges::shuffle(values, random);
    const Interval shuffled = median_interval(values);
    EXPECT_EQ(first.low, shuffled.low);
    EXPECT_EQ(first.high, shuffled.high);
    EXPECT_LE(first.low, first.median);
    EXPECT_GE(first.high, first.median);
    for (double& value : values) {
      value *= 4;
    }
    EXPECT_EQ(median_interval(values).median, 4 * first.median);
  }
}

TEST(MedianInterval, CoversTheMedianAsOftenAsItSays) {
  std::mt19937_64 random(2);
  std::lognormal_distribution<double> draw(0.0, 1.0);  // median 1, skewed
  for (const int n : {8, 20, 48}) {
    int covered = 0;
    constexpr int kTrials = 4000;
    for (int trial = 0; trial < kTrials; ++trial) {
      std::vector<double> values(static_cast<std::size_t>(n));
      for (double& value : values) {
        value = draw(random);
      }
      const Interval interval = median_interval(values);
      covered += interval.low <= 1 && interval.high >= 1 ? 1 : 0;
    }
    EXPECT_GE(covered, 0.94 * kTrials) << n;
  }
}

TEST(RatioInterval, PairsWithinQuads) {
  CaseTiming timing = timing_of({"candidate", "champion"});
  for (int quad = 0; quad < 10; ++quad) {
    const double drift = 1.0 + quad;  // the machine gets slower and slower; both arms do
    add_quad(timing, {90 * drift, 100 * drift});
  }
  const Interval ratio = ratio_interval(timing, 0, 1);
  EXPECT_NEAR(ratio.median, 0.9, 1e-12);
  EXPECT_NEAR(ratio.high, 0.9, 1e-12);
  EXPECT_EQ(ratio.samples, 10);
}

TEST(RatioInterval, CancelsDriftWithinAPalindrome) {
  CaseTiming timing = timing_of({"a", "b"});
  for (int quad = 0; quad < 8; ++quad) {
    int slot = 0;
    for (const int arm : {0, 1, 1, 0}) {
      timing.samples.push_back({arm, quad, slot, 1000.0 * std::exp(0.01 * slot), 0});
      ++slot;
    }
  }
  EXPECT_NEAR(ratio_interval(timing, 0, 1).median, 1.0, 1e-12);
}

TEST(RatioInterval, IsReciprocalWhenTheArmsChangePlaces) {
  std::mt19937_64 random(3);
  std::uniform_real_distribution<double> draw(90, 110);
  CaseTiming timing = timing_of({"a", "b"});
  for (int quad = 0; quad < 21; ++quad) {
    add_quad(timing, {draw(random), draw(random)});
  }
  const Interval ab = ratio_interval(timing, 0, 1), ba = ratio_interval(timing, 1, 0);
  EXPECT_NEAR(ab.median * ba.median, 1.0, 1e-12);
  EXPECT_NEAR(ab.low * ba.high, 1.0, 1e-12);
}

TEST(RatioInterval, LeavesOutQuadsThatLackAnArm) {
  CaseTiming timing = timing_of({"a", "b"});
  add_quad(timing, {100, 200});
  timing.samples.push_back({0, 7, 0, 100, 0});
  timing.samples.push_back({1, 8, 0, 0.0, 0});  // not measured
  EXPECT_EQ(ratio_interval(timing, 0, 1).samples, 1);
  EXPECT_EQ(ratio_interval(timing, 0, 5).samples, 0);
}

Comparison compared(double ratio, double again = 1.0, int quads = 12) {
  CaseTiming timing = timing_of({"candidate", "champion", "champion_again"});
  for (int quad = 0; quad < quads; ++quad) {
    const double jitter = quad % 2 == 0 ? 1.0005 : 0.9995;
    add_quad(timing, {1000 * ratio * jitter, 1000, 1000 * again * jitter});
  }
  return compare_arms(timing, 0, 1, 0.005);
}

TEST(Compare, WinsTiesAndLosesByTheMargin) {
  EXPECT_EQ(compared(0.98), Comparison::kWin);
  EXPECT_EQ(compared(0.996), Comparison::kTie);
  EXPECT_EQ(compared(1.0), Comparison::kTie);
  EXPECT_EQ(compared(1.02), Comparison::kLoss);
}

TEST(Compare, IsInconclusiveWhereTheIntervalCrossesTheMargin) {
  EXPECT_EQ(compared(0.995), Comparison::kInconclusive);
}

TEST(Compare, RefusesWhenTheControlDiffersFromItself) {
  EXPECT_EQ(compared(0.98, 1.01), Comparison::kRefused);
  EXPECT_EQ(compared(0.98, 0.99), Comparison::kRefused);
  EXPECT_EQ(compared(0.98, 1.003), Comparison::kWin);
}

TEST(Compare, IsInconclusiveOnFewQuads) {
  EXPECT_EQ(compared(0.5, 1.0, 5), Comparison::kInconclusive);
  EXPECT_EQ(compared(0.5, 1.0, 6), Comparison::kWin);
  EXPECT_EQ(compare_arms(CaseTiming{}, 0, 1, 0.005), Comparison::kInconclusive);
}

TEST(Compare, TakesAnEstimateAsItIs) {
  CaseTiming timing = timing_of({"candidate", "baseline:naive"});
  timing.method = ClockMethod::kEstimate;
  timing.samples = {{0, 0, 0, 50, 0}, {1, 0, 1, 100, 0}};
  EXPECT_EQ(compare_arms(timing, 0, 1, 0.005), Comparison::kWin);
}

TEST(Geomean, IsTheRootOfTheProduct) {
  EXPECT_NEAR(geomean({1, 4}), 2, 1e-12);
  EXPECT_NEAR(geomean({2, 0.5}), 1, 1e-12);
  EXPECT_EQ(geomean({}), 0);
}

}  // namespace
}  // namespace kf
