// SPDX-License-Identifier: Apache-2.0
#include "factory/neighbours.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <set>

#include "factory/cases.h"
#include "factory/cliffs.h"

namespace kf {
namespace {

Spec rows_spec(const std::string& constraints = "[]", const std::string& time = R"([{"M": 64, "N": 256}])") {
  const std::string json = R"({"kfactory_spec": 1, "name": "rows", "op_type": "rows",
    "types": {"T": ["float32", "bfloat16"]},
    "axes": {"M": {"type": "var"}, "N": {"type": "var"}, "LDX": {"type": "expr", "expression": "N"}},
    "constraints": )" + constraints +
                           R"(,
    "inputs": {"x": {"shape": ["M", "N"], "strides": ["LDX", 1], "dtype": "T"}},
    "outputs": {"y": {"shape": ["M", "N"], "dtype": "T"}},
    "reference": {"cuda": "r.cu", "slice": "M"}, "tolerance": {"y": {"ulp": 1}},
    "work": {"read_bytes": "M*N", "write_bytes": "M*N"},
    "families": {"x": ["normal", "mixed"]},
    "cases": {"check": [{"M": 3, "N": 40}], "time": )" +
                           time + "}}";
  auto spec = parse_spec(json, [](const std::string&) -> OrError<std::string> { return "text"; });
  EXPECT_TRUE(spec) << (spec ? "" : to_string(spec.error()));
  return spec ? *spec : Spec{};
}
std::set<std::int64_t> values_of(const std::vector<Case>& cases, const std::string& axis) {
  std::set<std::int64_t> values;
  for (const Case& of : cases) {
    values.insert(of.axes.at(axis));
  }
  return values;
}
DeviceFacts large_device() {
  DeviceFacts facts;
  facts.kind = "cuda";
  facts.memory_bytes = 140LL << 30;
  return facts;
}
constexpr std::int64_t kPlenty = 1LL << 30;

// A spec with a scalar, and with a pitch that one check case sets itself.
Spec pitched_spec(const std::string& pitch) {
  const std::string json = R"({"kfactory_spec": 1, "name": "rows", "op_type": "rows",
    "axes": {"M": {"type": "var"}, "N": {"type": "var"}, "LDX": {"type": "expr", "expression": "N"}},
    "constraints": ["LDX >= N"],
    "inputs": {"x": {"shape": ["M", "N"], "strides": ["LDX", 1], "dtype": "float32"},
               "eps": {"shape": null, "dtype": "float32", "default": 0.5}, "flags": {"shape": null, "dtype": "int32", "default": 3}},
    "outputs": {"y": {"shape": ["M", "N"], "dtype": "float32"}},
    "reference": {"cuda": "r.cu", "slice": "M"}, "tolerance": {"y": {"ulp": 1}},
    "work": {"read_bytes": "M*N", "write_bytes": "M*N"},
    "cases": {"check": [{"M": 3, "N": 40}, {"M": 2, "N": 40, "LDX": ")" +
                           pitch + R"("}], "time": [{"M": 64, "N": 256}]}})";
  auto spec = parse_spec(json, [](const std::string&) -> OrError<std::string> { return "text"; });
  EXPECT_TRUE(spec) << (spec ? "" : to_string(spec.error()));
  return spec ? *spec : Spec{};
}

TEST(OtherChoices, HaveAScalarAndAPitchThatNoCaseLists) {
  const Spec spec = pitched_spec("N + 1");
  std::set<double> scalars;
  std::set<std::int64_t> pitches;
  for (std::uint64_t seed = 1; seed <= 20; ++seed) {
    const std::vector<Case> made = other_choices(spec, spec.cases.at("time"), seed, kPlenty);
    ASSERT_EQ(made.size(), 2U);
    EXPECT_EQ(made[0].set, "held_out");
    EXPECT_LT(made[0].scalars.at("eps"), 0.5);
    EXPECT_GT(made[0].scalars.at("eps"), 0.3);
    EXPECT_EQ(made[0].scalars.at("flags"), 3);  // another whole number may mean another operation
    EXPECT_EQ(made[0].axes.at("LDX"), 256);
    EXPECT_GT(made[1].axes.at("LDX"), 257);
    EXPECT_EQ(made[1].axes.at("N"), 256);
    scalars.insert(made[0].scalars.at("eps"));
    pitches.insert(made[1].axes.at("LDX"));
  }
  EXPECT_GT(scalars.size(), 10U);
  EXPECT_GT(pitches.size(), 5U);
}

TEST(OtherChoices, KeepToTheStepOfTheListedPitches) {
  const Spec spec = pitched_spec("N + 8");
  for (std::uint64_t seed = 1; seed <= 20; ++seed) {
    const std::vector<Case> made = other_choices(spec, spec.cases.at("time"), seed, kPlenty);
    ASSERT_EQ(made.size(), 2U);
    EXPECT_EQ(made[1].axes.at("LDX") % 8, 0);
    EXPECT_GT(made[1].axes.at("LDX"), 264);
  }
}

TEST(OtherChoices, LeaveAPitchAloneThatNoCaseSets) {
  const Spec spec = pitched_spec("N");
  EXPECT_EQ(other_choices(spec, spec.cases.at("time"), 1, kPlenty).size(), 1U);  // the scalar's
}

TEST(Neighbours, AreHeldOutAndMoveOneAxisOfATimedCase) {
  const Spec spec = rows_spec();
  const std::vector<Case> made = neighbours(spec, spec.cases.at("time"), 1, kPlenty, 100);
  ASSERT_FALSE(made.empty());
  for (const Case& of : made) {
    EXPECT_EQ(of.set, "held_out");
    EXPECT_TRUE(of.id.value.starts_with("held_out/")) << of.id.value;
    EXPECT_EQ((of.axes.at("M") != 64) + (of.axes.at("N") != 256), 1) << of.id.value;
    EXPECT_EQ(of.axes.at("LDX"), of.axes.at("N"));
  }
  for (const std::int64_t n : {1, 255, 257, 251, 321, 263, 129}) {  // 251 and 263 are primes
    EXPECT_TRUE(values_of(made, "N").contains(n)) << n;
  }
}

TEST(Neighbours, AreOneOfEachKindBeforeASecondOfAny) {
  const Spec spec = rows_spec();
  const std::vector<Case> few = neighbours(spec, spec.cases.at("time"), 7, kPlenty, 6);
  EXPECT_EQ(few.size(), 6U);
  std::set<std::pair<std::int64_t, std::int64_t>> sizes;
  for (const Case& of : few) {
    sizes.insert({of.axes.at("M"), of.axes.at("N")});
  }
  EXPECT_EQ(sizes.size(), 6U);  // not the same sizes in another type
}

TEST(Neighbours, DependOnTheSeed) {
  const Spec spec = rows_spec();
  const auto ids = [&](std::uint64_t seed) {
    std::vector<std::string> found;
    for (const Case& of : neighbours(spec, spec.cases.at("time"), seed, kPlenty, 4)) {
      found.push_back(of.id.value);
    }
    return found;
  };
  EXPECT_EQ(ids(1), ids(1));
  EXPECT_NE(ids(1), ids(2));
}

TEST(Neighbours, KeepToTheConstraints) {
  const Spec spec = rows_spec(R"(["N % 8 == 0", "M >= 2 && M <= 64"])", R"([{"M": 64, "N": 256}])");
  const std::vector<Case> made = neighbours(spec, spec.cases.at("time"), 1, kPlenty, 100);
  for (const std::int64_t n : values_of(made, "N")) {
    EXPECT_EQ(n % 8, 0);
  }
  for (const std::int64_t m : values_of(made, "M")) {
    EXPECT_TRUE(m >= 2 && m <= 64);
  }
}

TEST(Neighbours, CutTheSliceAxisRatherThanTakeMoreMemoryThanAllowed) {
  const Spec spec = rows_spec();
  const std::vector<Case> made = neighbours(spec, spec.cases.at("time"), 1, 16'000, 100);
  EXPECT_TRUE(values_of(made, "N").contains(257));
  for (const Case& of : made) {
    EXPECT_LE(of.tensors[0].span_bytes() + of.tensors[1].span_bytes(), 16'000);
  }
}

TEST(Neighbours, AreNotMadeOfCasesThatListContents) {
  Spec spec = rows_spec();
  spec.cases["time"][0].tensors[0].values = {1, 2};
  EXPECT_TRUE(neighbours(spec, {spec.cases["time"][0]}, 1, kPlenty, 10).empty());
}

TEST(CloseNeighbours, AreOneForEachAxisOfEachTimedCase) {
  const Spec spec = rows_spec();
  const auto near = close_neighbours(spec, spec.cases.at("time"), 3, kPlenty);
  EXPECT_EQ(near.size(), 2 * spec.cases.at("time").size());
  for (const CloseNeighbour& one : near) {
    const Case& timed = spec.cases.at("time")[one.of];
    EXPECT_EQ(one.neighbour.types, timed.types);
    const std::int64_t away = std::abs(one.neighbour.axes.at("M") - timed.axes.at("M")) +
                              std::abs(one.neighbour.axes.at("N") - timed.axes.at("N"));
    EXPECT_GT(away, 0);
    EXPECT_LE(away, 3);  // 67 is the next prime after 64
  }
}

TEST(Beyond32Bits, GrowsTheSliceAxisOfTheNarrowestOfTheLargestCases) {
  const Spec spec = rows_spec("[]", R"([{"M": 16384, "N": 65536}])");
  const auto beyond = beyond_32_bits(spec, spec.cases.at("time"), large_device());
  ASSERT_TRUE(beyond);
  EXPECT_GT(beyond->tensors[0].elements(), 1LL << 31);
  EXPECT_EQ(beyond->axes.at("N"), 65536);
  EXPECT_EQ(beyond->types.at("T"), Dtype::kBfloat16);
}

TEST(Beyond32Bits, IsNotAskedOfSpecsForSmallSizesNorOfSmallDevices) {
  const Spec small = rows_spec();
  EXPECT_FALSE(beyond_32_bits(small, small.cases.at("time"), large_device()));
  const Spec large = rows_spec("[]", R"([{"M": 16384, "N": 65536}])");
  DeviceFacts device = large_device();
  device.memory_bytes = 16LL << 30;
  EXPECT_FALSE(beyond_32_bits(large, large.cases.at("time"), device));
}

TEST(Influence, UsesTimedExtentsCutAlongTheSliceAxisAndFullSizeFamilies) {
  const Spec spec = rows_spec("[]", R"([{"M": 16384, "N": 65536}])");
  std::vector<Case> cases;
  const auto points = influence_points(spec, large_device(), {}, cases);
  ASSERT_EQ(cases.size(), 2U);  // one for each type
  for (const Case& of : cases) {
    EXPECT_EQ(of.axes.at("N"), 65536);
    EXPECT_LT(of.axes.at("M"), 100);
  }
  ASSERT_EQ(points.size(), 4U);
  EXPECT_EQ(points[0].family, "normal");
  EXPECT_EQ(points[1].family, "mixed");
}

TEST(TimedAmongChecked, NamesATypeThatNoCheckCaseHas) {
  Spec spec = rows_spec();
  EXPECT_TRUE(timed_among_checked(spec, large_device()).front().ok);
  std::erase_if(spec.cases["check"], [](const Case& of) { return of.types.at("T") == Dtype::kBfloat16; });
  const std::vector<AdmissionRow> rows = timed_among_checked(spec, large_device());
  ASSERT_EQ(rows.size(), 1U);
  EXPECT_FALSE(rows[0].ok);
  EXPECT_NE(rows[0].name.find("T=bfloat16"), std::string::npos);
}

TEST(TimedAmongChecked, OnAnEmulatorTimedCasesAreMeantTooAndCheckCasesThatRunThere) {
  DeviceFacts emulated = large_device();
  emulated.kind = "emulator";
  Spec spec = rows_spec("[]", R"([{"M": 16384, "N": 65536}])");
  const auto first_row = [&] { return timed_among_checked(spec, emulated).front(); };
  EXPECT_FALSE(first_row().ok);  // nothing small enough to be executed
  EXPECT_NE(first_row().found.find("add an emulate set"), std::string::npos) << first_row().found;
  spec.cases["emulate"] = {spec.cases["check"].front()};
  EXPECT_TRUE(first_row().ok) << first_row().found;
  EXPECT_EQ(first_row().found.find("reference at full size"), std::string::npos);
  std::erase_if(spec.cases["check"], [&](const Case& of) { return of.types != spec.cases["emulate"].front().types; });
  EXPECT_FALSE(first_row().ok);  // the other type is timed, and nothing of it is checked
  EXPECT_EQ(first_row().name.find("timed case time/"), 0U) << first_row().name;
}

TEST(CheckPoints, GiveLargeCasesTheirOwnFamilyAndTheMixedOne) {
  const Spec spec = rows_spec("[]", R"([{"M": 4096, "N": 4096}])");
  const std::vector<CheckPoint> points = check_points(spec, {spec.cases.at("time")[0]}, true, Purpose::kCheck, {});
  ASSERT_EQ(points.size(), 2U);
  EXPECT_EQ(points[1].family, "mixed");
}

TEST(CliffLimit, DiscountsALaunchOnAClockAndScalesWithTheWork) {
  EXPECT_EQ(cliff_limit(4, 1000, 1, ClockMethod::kEvents), 14'000);
  EXPECT_EQ(cliff_limit(4, 1000, 2, ClockMethod::kEstimate), 8'000);
}

}  // namespace
}  // namespace kf
