// SPDX-License-Identifier: Apache-2.0
#include "factory/drawn_cases.h"

#include <gmock/gmock.h>

#include <algorithm>
#include <set>

#include "factory/cases.h"

namespace kf {
namespace {

Spec rows_spec(const std::string& constraints, const std::string& check) {
  const std::string json = R"({"kfactory_spec": 1, "name": "rows", "op_type": "rows",
    "axes": {"M": {"type": "var"}, "N": {"type": "var"}, "LDX": {"type": "expr", "expression": "N"}},
    "constraints": )" + constraints +
                           R"(,
    "inputs": {"x": {"shape": ["M", "N"], "strides": ["LDX", 1], "dtype": "float32"},
               "bias": {"shape": ["N"], "dtype": "float32", "optional": true}},
    "outputs": {"y": {"shape": ["M", "N"], "dtype": "float32"}},
    "reference": {"cuda": "r.cu", "slice": "M"}, "tolerance": {"y": {"ulp": 1}},
    "work": {"read_bytes": "M*N", "write_bytes": "M*N"},
    "cases": {"check": )" + check +
                           R"(, "time": [{"M": 64, "N": 256}]}})";
  auto spec = parse_spec(json, [](const std::string&) -> OrError<std::string> { return "text"; });
  EXPECT_TRUE(spec) << (spec ? "" : to_string(spec.error()));
  return spec ? *spec : Spec{};
}
constexpr auto kCheck = R"([{"M": 3, "N": 40}, {"M": 2, "N": 40, "LDX": "N + 3", "with": ["bias"]}])";
constexpr DrawnLimits kPlenty{1LL << 24, 1LL << 24};

TEST(DrawnCases, LeaveEveryTailOfAVectorOverSixteenDraws) {
  const Spec spec = rows_spec("[]", kCheck);
  const std::vector<Case> made = drawn_cases(spec, 5, kPlenty, 16);
  ASSERT_GE(made.size(), 14U);
  std::set<std::int64_t> tails;
  for (const Case& of : made) {
    EXPECT_EQ(of.set, "held_out");
    EXPECT_LE(of.axes.at("N"), 2 * 256 + 16);
    tails.insert(of.axes.at("N") % 16);
  }
  EXPECT_GE(tails.size(), 12U);  // some sizes are 1 on purpose
}

TEST(DrawnCases, AreSometimesLargerThanAnyListedSizeAndSometimesOne) {
  const Spec spec = rows_spec("[]", kCheck);
  std::set<std::int64_t> sizes;
  for (std::uint64_t seed = 0; seed < 8; ++seed) {
    for (const Case& of : drawn_cases(spec, seed, kPlenty, 16)) {
      sizes.insert(of.axes.at("N"));
    }
  }
  EXPECT_GT(*sizes.rbegin(), 256);
  EXPECT_EQ(*sizes.begin(), 1);
}

TEST(DrawnCases, KeepPitchesAndOptionsOfTheCheckCasesInTurn) {
  const Spec spec = rows_spec("[]", kCheck);
  std::set<std::pair<std::int64_t, std::size_t>> seen;
  for (const Case& of : drawn_cases(spec, 3, kPlenty, 6)) {
    seen.insert({of.axes.at("LDX") - of.axes.at("N"), of.tensors.size()});
  }
  EXPECT_THAT(seen, testing::ElementsAre(std::pair(0, 2U), std::pair(3, 3U)));
}

TEST(DrawnCases, KeepToTheElementsAndRowsAllowed) {
  const Spec spec = rows_spec("[]", kCheck);
  for (std::uint64_t seed = 0; seed < 8; ++seed) {
    for (const Case& of : drawn_cases(spec, seed, {2000, 20}, 16)) {
      EXPECT_LE(elements_of(of), 2000) << of.id.value;
      EXPECT_LE(of.axes.at("M"), 20) << of.id.value;
    }
  }
}

TEST(DrawnCases, TakeMultiplesWhereTheConstraintsRefuseTheRest) {
  const Spec spec = rows_spec(R"(["N % 8 == 0"])", R"([{"M": 3, "N": [40, 64]}])");
  const std::vector<Case> made = drawn_cases(spec, 7, kPlenty, 12);
  EXPECT_GE(made.size(), 8U);
  EXPECT_TRUE(std::ranges::all_of(made, [](const Case& of) { return of.axes.at("N") % 8 == 0; }));
}

TEST(DrawnCases, DependOnTheSeed) {
  const Spec spec = rows_spec("[]", kCheck);
  const auto ids = [&](std::uint64_t seed) {
    std::set<std::string> found;
    for (const Case& of : drawn_cases(spec, seed, kPlenty, 8)) {
      found.insert(of.id.value);
    }
    return found;
  };
  EXPECT_EQ(ids(1), ids(1));
  EXPECT_NE(ids(1), ids(2));
}

}  // namespace
}  // namespace kf
