// SPDX-License-Identifier: Apache-2.0
#include "factory/spec_gaps.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>

namespace kf {
namespace {

using testing::HasSubstr;
using testing::IsEmpty;

struct Parts {
  std::string nonfinite = "propagate", families = R"({"x": ["normal", "nonfinite"], "w": ["normal", "nonfinite"]})";
  std::string constraints = R"(["LDX >= N"])";
  std::string dtype = "float32";  // of w
  std::string check = R"([{"M": 3, "N": 40, "with": ["w"]}, {"M": 2, "N": 41, "LDX": "N + 1", "eps": 1}])";
};
Spec spec_of(const Parts& parts) {
  const std::string json = R"({"kfactory_spec": 1, "name": "rows", "op_type": "rows",
    "axes": {"M": {"type": "var"}, "N": {"type": "var"}, "LDX": {"type": "expr", "expression": "N"}},
    "constraints": )" + parts.constraints +
                           R"(,
    "inputs": {"x": {"shape": ["M", "N"], "strides": ["LDX", 1], "dtype": "float32"},
               "w": {"shape": ["N"], "dtype": ")" +
                           parts.dtype + R"(", "optional": true},
               "eps": {"shape": null, "dtype": "float32", "default": 0.5}},
    "outputs": {"y": {"shape": ["M", "N"], "dtype": "float32"}, "index": {"shape": ["M"], "dtype": "int32"}},
    "reference": {"cuda": "r.cu", "slice": "M"}, "tolerance": {"y": {"ulp": 1}},
    "work": {"read_bytes": "M*N", "write_bytes": "M*N"}, "nonfinite": ")" +
                           parts.nonfinite + R"(", "families": )" + parts.families + R"(, "cases": {"check": )" +
                           parts.check + R"(, "time": [{"M": 64, "N": 256}]}})";
  auto spec = parse_spec(json, [](const std::string&) -> OrError<std::string> { return "text"; });
  EXPECT_TRUE(spec) << (spec ? "" : to_string(spec.error()));
  return spec ? *spec : Spec{};
}
std::vector<std::string> names_of(const std::vector<AdmissionRow>& rows) {
  std::vector<std::string> names;
  for (const AdmissionRow& row : rows) {
    EXPECT_TRUE(row.ok) << row.name << " must refuse nothing";
    names.push_back(row.name);
  }
  return names;
}
std::vector<std::string> gaps(const Parts& parts, const std::vector<OutputRange>& ranges = {}) {
  return names_of(spec_gaps(spec_of(parts), ranges));
}

TEST(SpecGaps, AreNoneWhereEverythingIsTried) {
  EXPECT_THAT(gaps({}, {{"index", 70'000, {"N"}}}), IsEmpty());
}

TEST(SpecGaps, NameEachInputWhoseNanNobodyTries) {
  Parts parts;
  parts.families = R"({"x": ["normal", "masked"], "w": ["normal", "nonfinite"]})";
  const std::vector<AdmissionRow> rows = spec_gaps(spec_of(parts), {});
  EXPECT_THAT(names_of(rows), testing::ElementsAre("NaN and Inf in x"));
  EXPECT_THAT(rows.at(0).found, HasSubstr("add \"nonfinite\" to families.x"));
  parts.families = "{}";
  EXPECT_THAT(gaps(parts), testing::ElementsAre("NaN and Inf in x", "NaN and Inf in w"));
  parts.nonfinite = "unspecified";
  EXPECT_THAT(gaps(parts), IsEmpty());
}

TEST(SpecGaps, NameAnIntegerInputWhoseValuesFitEightBits) {
  Parts parts;
  parts.dtype = "int16";
  parts.families = R"({"x": ["normal", "nonfinite"], "w": ["integers", "late"]})";
  const std::vector<AdmissionRow> rows = spec_gaps(spec_of(parts), {});
  EXPECT_THAT(names_of(rows), testing::ElementsAre("range of w"));
  EXPECT_THAT(rows.at(0).found, HasSubstr("add \"large\" to families.w"));
  parts.families = R"({"x": ["normal", "nonfinite"], "w": ["integers", "large"]})";
  EXPECT_THAT(gaps(parts), IsEmpty());
  parts.dtype = "int8";
  parts.families = R"({"x": ["normal", "nonfinite"]})";
  EXPECT_THAT(gaps(parts), IsEmpty());
}

TEST(SpecGaps, NameAnOptionalInputThatIsNeverThere) {
  Parts parts;
  parts.check = R"([{"M": 3, "N": 40}, {"M": 2, "N": 41, "LDX": "N + 1", "eps": 1}])";
  EXPECT_THAT(gaps(parts), testing::ElementsAre("input w"));
}

TEST(SpecGaps, NameAScalarWithOneValue) {
  Parts parts;
  parts.check = R"([{"M": 3, "N": 40, "with": ["w"]}, {"M": 2, "N": 41, "LDX": "N + 1"}])";
  EXPECT_THAT(gaps(parts), testing::ElementsAre("scalar eps"));
}

TEST(SpecGaps, NameAPitchThatNoCheckCaseSets) {
  Parts parts;
  parts.check = R"([{"M": 3, "N": 40, "with": ["w"]}, {"M": 2, "N": 41, "eps": 1}])";
  EXPECT_THAT(gaps(parts), testing::ElementsAre("pitch LDX"));
}

TEST(SpecGaps, NameAnAxisWithoutTailsUnlessAConstraintWantsThat) {
  Parts parts;
  parts.check = R"([{"M": 3, "N": 40, "with": ["w"]}, {"M": 2, "N": 64, "LDX": "N + 1", "eps": 1}])";
  EXPECT_THAT(gaps(parts), testing::ElementsAre("tails along N"));
  parts.constraints = R"(["LDX >= N", "N % 8 == 0"])";
  EXPECT_THAT(gaps(parts), IsEmpty());
}

TEST(SpecGaps, NameAnIndexThatSixteenBitsHold) {
  const std::vector<AdmissionRow> rows = spec_gaps(spec_of({}), {{"index", 16'383, {"N"}}});
  EXPECT_THAT(names_of(rows), testing::ElementsAre("range of index"));
  EXPECT_THAT(rows.at(0).found, testing::AllOf(HasSubstr("16 bits"), HasSubstr("whose N is above 65536")));
  EXPECT_THAT(spec_gaps(spec_of({}), {{"index", 200, {"N"}}}).at(0).found, HasSubstr("8 bits"));
}

TEST(SpecGaps, LetAnIndexBeShortWhereItsAxisIs) {
  Parts parts;
  parts.constraints = R"(["LDX >= N", "N <= 4096"])";
  EXPECT_THAT(gaps(parts, {{"index", 4'095, {"N"}}}), IsEmpty());
}

TEST(SpecGaps, NameASumThatFloat32Holds) {
  const std::vector<AdmissionRow> rows = spec_gaps(spec_of({}), {{"index", 300'000, {}}});
  EXPECT_THAT(names_of(rows), testing::ElementsAre("range of index"));
  EXPECT_THAT(rows.at(0).found, HasSubstr("float32"));
  EXPECT_THAT(spec_gaps(spec_of({}), {{"index", 17e6, {}}}), IsEmpty());
}

TEST(SpecGaps, AreNoneInTheSpecsOfThisRepository) {
  for (const char* folder : {"/specs", "/specs/examples", "/tests/specs"}) {
    for (const auto& entry : std::filesystem::directory_iterator(std::string(KF_SOURCE_DIR) + folder)) {
      const std::string path = entry.path().string();
      if (path.ends_with(".json") && !path.ends_with("spec.schema.json")) {
        const auto spec = load_spec(path);
        ASSERT_TRUE(spec) << path;
        for (const AdmissionRow& row : spec_gaps(*spec, {})) {
          ADD_FAILURE() << path << ": " << row.name << ": " << row.found;
        }
      }
    }
  }
}

}  // namespace
}  // namespace kf
