// SPDX-License-Identifier: Apache-2.0
#include "factory/shapes.h"

#include <gtest/gtest.h>

#include <limits>

namespace kf {
namespace {

Case shape(std::int64_t n, Dtype dtype = Dtype::kFloat32) {
  Case of;
  of.axes = {{"M", 32}, {"N", n}};
  of.types = {{"T", dtype}};
  return of;
}

const std::vector<Assignment> kPoints{{{"ROWS", 1}}, {{"ROWS", 4}}};

std::vector<std::string> conditions(const std::vector<Selection>& selections) {
  std::vector<std::string> found;
  for (const Selection& selection : selections) {
    found.push_back(selection.when);
  }
  return found;
}

TEST(SelectByShape, KeepsOnePointWhereItIsBestEverywhere) {
  const std::vector cases{shape(256), shape(1024), shape(4096)};
  const std::vector<std::vector<double>> times{{10, 20, 30}, {11, 21, 31}};
  const std::vector<Selection> selections = select_by_shape(cases, kPoints, times);
  ASSERT_EQ(selections.size(), 1U);
  EXPECT_EQ(selections[0].when, "");
  EXPECT_EQ(selections[0].set, kPoints[0]);
}

TEST(SelectByShape, CutsAnAxisWhereAnotherPointWins) {
  const std::vector cases{shape(256), shape(1024), shape(4096)};
  const std::vector<std::vector<double>> times{{20, 20, 30}, {10, 12, 60}};
  const std::vector<Selection> selections = select_by_shape(cases, kPoints, times);
  ASSERT_EQ(conditions(selections), (std::vector<std::string>{"N <= 1024", ""}));
  EXPECT_EQ(selections[0].set, kPoints[1]);
  EXPECT_EQ(selections[1].set, kPoints[0]);
}

TEST(SelectByShape, CutsBytesWhereTheAxisAloneDoesNotTell) {
  // 4 KiB a row is where the points change places, whatever the type.
  const std::vector cases{shape(1024), shape(1024, Dtype::kBfloat16), shape(2048), shape(2048, Dtype::kBfloat16)};
  const std::vector<std::vector<double>> times{{20, 20, 10, 20}, {10, 10, 20, 10}};
  EXPECT_EQ(conditions(select_by_shape(cases, kPoints, times)),
            (std::vector<std::string>{"N * sizeof(T) <= 4096", ""}));
}

TEST(SelectByShape, MakesNoRangeForLessThanNoise) {
  const std::vector cases{shape(256), shape(1024), shape(4096)};
  const std::vector<std::vector<double>> times{{10.00, 20, 30}, {9.99, 20, 30.1}};
  EXPECT_EQ(select_by_shape(cases, kPoints, times).size(), 1U);
}

TEST(SelectByShape, LeavesOutAPointWhereItDoesNotRun) {
  constexpr double kNever = std::numeric_limits<double>::infinity();
  const std::vector cases{shape(256), shape(1024)};
  const std::vector<Selection> selections =
      select_by_shape(cases, kPoints, std::vector<std::vector<double>>{{kNever, 20}, {30, kNever}});
  ASSERT_EQ(conditions(selections), (std::vector<std::string>{"N <= 256", ""}));
  EXPECT_EQ(selections[0].set, kPoints[1]);
}

TEST(SelectByShape, IsEmptyWhereNothingRuns) {
  constexpr double kNever = std::numeric_limits<double>::infinity();
  EXPECT_TRUE(
      select_by_shape(std::vector{shape(256)}, kPoints, std::vector<std::vector<double>>{{kNever}, {kNever}}).empty());
}

}  // namespace
}  // namespace kf
