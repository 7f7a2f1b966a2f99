// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>

#include "fixtures.h"

namespace kf {
namespace {

using test::good_spec;
using test::kSpecText;
using test::spec_errors;
using test::with;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

constexpr std::string_view kTime =
    R"({"M": 128, "N": 4096, "T": "bfloat16", "values": {"offsets": {"even_split": "M*N"}}})";

OrErrors<Spec> with_time_case(std::string_view text) {
  return test::spec_of(with(kSpecText, kTime, text));
}

std::vector<std::string> ids(const OrErrors<Spec>& spec) {
  std::vector<std::string> result;
  EXPECT_TRUE(spec) << (spec ? "" : to_string(spec.error()));
  if (spec) {
    for (const Case& of : spec->cases.at("time")) {
      result.push_back(of.id.value);
    }
  }
  return result;
}
std::string case_errors(std::string_view text) {
  return spec_errors(with(kSpecText, kTime, text));
}

const Tensor& tensor(const Case& of, std::string_view name) {
  for (const Tensor& candidate : of.tensors) {
    if (candidate.name == name) {
      return candidate;
    }
  }
  throw Fatal("no tensor " + std::string(name));
}

TEST(Cases, ListsExpandToAProductFirstAxisSlowest) {
  std::vector<std::string> found;
  const Spec spec = good_spec();
  for (const Case& of : spec.cases.at("check")) {
    found.push_back(std::to_string(of.axes.at("M")) + "," + std::to_string(of.axes.at("N")) + "," +
                    std::string(to_string(of.types.at("T"))));
  }
  EXPECT_THAT(found, ElementsAre("1,64,bfloat16", "1,64,float32", "1,100,bfloat16", "1,100,float32", "3,64,bfloat16",
                                 "3,64,float32", "3,100,bfloat16", "3,100,float32"));
}

TEST(Cases, AnAbsentTypeTakesEachOfItsDtypes) {
  EXPECT_EQ(ids(with_time_case(R"({"M": 1, "N": 8, "values": {"offsets": [0, 1, 2, 3]}})")).size(), 3u);
}

TEST(Cases, IdsSayWhatTheCaseChoosesAndNotItsPlace) {
  const auto spec = with_time_case(R"({"M": 1, "N": [8, 16], "LDX": "N + 8", "T": "float32", "eps": 0.01,
    "with": ["norm", "bias"], "family": "large", "values": {"offsets": [0, 1, 2, 3]}})");
  const std::vector<std::string> found = ids(spec);
  ASSERT_EQ(found.size(), 2u);
  EXPECT_THAT(found[1], HasSubstr("time/M=1,N=16,LDX=24,T=float32,eps=0.01,with=bias+norm,family=large,values="));
}

TEST(Cases, ExprAxesFollowUnlessTheCaseSetsThem) {
  const auto spec =
      with_time_case(R"({"M": 2, "N": 8, "LDX": 12, "T": "float32", "values": {"offsets": [0, 1, 2, 3]}})");
  ASSERT_TRUE(spec) << to_string(spec.error());
  const Case& of = spec->cases.at("time").at(0);
  EXPECT_EQ(of.axes.at("LDX"), 12);
  EXPECT_EQ(of.axes.at("S1"), 4);
  EXPECT_EQ(of.axes.at("BLOCK"), 16);
  EXPECT_THAT(tensor(of, "x").stride, ElementsAre(12, 1));
  EXPECT_THAT(tensor(of, "y").stride, ElementsAre(8, 1));
  EXPECT_THAT(tensor(of, "x").dims, ElementsAre("M", "N"));
}

TEST(Cases, OptionalTensorsAreAbsentUnlessNamed) {
  const Case of = good_spec().cases.at("time").at(0);
  EXPECT_THAT(of.absent, ElementsAre("bias", "norm"));
  const auto spec = with_time_case(
      R"({"M": 1, "N": 8, "T": "float32", "with": [[], ["bias"]], "values": {"offsets": [0, 1, 2, 3]}})");
  ASSERT_TRUE(spec) << to_string(spec.error());
  ASSERT_EQ(spec->cases.at("time").size(), 2u);
  EXPECT_THAT(spec->cases.at("time")[1].absent, ElementsAre("norm"));
}

TEST(Cases, ScalarsHaveTheirDefaultOrTheCasesValue) {
  const Case of = good_spec().cases.at("time").at(0);
  EXPECT_EQ(of.scalars.at("eps"), 0.5);
  EXPECT_EQ(of.scalar_types.at("count"), Dtype::kInt32);
  const auto spec =
      with_time_case(R"({"M": 1, "N": 8, "T": "float32", "eps": [1, 2.5], "values": {"offsets": [0, 1, 2, 3]}})");
  ASSERT_TRUE(spec) << to_string(spec.error());
  EXPECT_EQ(spec->cases.at("time")[1].scalars.at("eps"), 2.5);
}

TEST(Cases, TheFamilyIsTheFirstOneOfTheFirstInputUnlessGiven) {
  EXPECT_EQ(good_spec().cases.at("time").at(0).family, "normal");
  const auto spec =
      with_time_case(R"({"M": 1, "N": 8, "T": "float32", "family": "spikes", "values": {"offsets": [0, 1, 2, 3]}})");
  EXPECT_EQ(spec->cases.at("time").at(0).family, "spikes");
}

TEST(Cases, GeneratorsFillIndexTensors) {
  const auto values = [](std::string_view generator) {
    const auto spec =
        with_time_case(R"({"M": 3, "N": 8, "T": "float32", "values": {"offsets": )" + std::string(generator) + "}}");
    EXPECT_TRUE(spec) << (spec ? "" : to_string(spec.error()));
    return spec ? tensor(spec->cases.at("time").at(0), "offsets").values : std::vector<std::int64_t>{};
  };
  EXPECT_THAT(values("[0, 2, 5, \"N\"]"), ElementsAre(0, 2, 5, 8));
  EXPECT_THAT(values("{\"fill\": 7}"), ElementsAre(7, 7, 7, 7));
  EXPECT_THAT(values("{\"range\": \"M\"}"), ElementsAre(3, 4, 5, 6));
  EXPECT_THAT(values("{\"running_sums\": [5, 0, 2]}"), ElementsAre(0, 5, 5, 7));
  EXPECT_THAT(values("{\"even_split\": \"N + 2\"}"), ElementsAre(0, 3, 6, 10));
}

TEST(Cases, ValuesMustFitShapeAndType) {
  EXPECT_THAT(case_errors(R"({"M": 3, "N": 8, "T": "float32", "values": {"offsets": [0]}})"),
              HasSubstr("found 1 values for \"offsets\", which has 4 elements"));
  EXPECT_THAT(case_errors(R"({"M": 1, "N": 8, "T": "float32", "values": {"offsets": {"count": 1}}})"),
              HasSubstr("unknown generator \"count\"; allowed: fill, range, running_sums, even_split"));
  EXPECT_THAT(case_errors(R"({"M": 1, "N": 8, "T": "float32"})"),
              HasSubstr("the case states no values of \"offsets\""));
  EXPECT_THAT(case_errors(R"({"M": 1, "N": 8, "T": "float32", "values": {"x": [1]}})"),
              HasSubstr("\"x\" is no tensor with \"values\": \"case\""));
  const std::string small = with(kSpecText, "\"dtype\": \"int64\"", "\"dtype\": \"int8\"");
  EXPECT_THAT(spec_errors(small), HasSubstr("does not fit int8"));
}

TEST(Cases, ErrorsNameTheCaseAndItsAxes) {
  const std::string error =
      case_errors(R"({"M": 1, "N": 8, "LDX": 4, "T": "float32", "values": {"offsets": [0, 1, 2, 3]}})");
  EXPECT_THAT(error, HasSubstr("$.cases.time[0]: for LDX = 4, M = 1, N = 8: "));
}

TEST(Cases, ConstraintsMustHold) {
  const std::string text = with(kSpecText, "\"LDX >= N\"", "\"N % 64 == 0\"");
  EXPECT_THAT(spec_errors(text),
              HasSubstr("$.cases.check[0]: for M = 1, N = 100: the constraint \"N % 64 == 0\" does not hold"));
}

TEST(Cases, ElementsMustNotOverlap) {
  const std::string text = with(kSpecText, "\"constraints\": [\"LDX >= N\"],", "");
  EXPECT_THAT(spec_errors(with(text, kTime,
                               R"({"M": 2, "N": 8, "LDX": 4, "T": "float32", "values": {"offsets": [0, 1, 2, 3]}})")),
              HasSubstr("the strides [4, 1] of \"x\" with extents [2, 8] make elements overlap: stride 4 of dim 0 must "
                        "be at least 8"));
}

TEST(Cases, TransposedStridesAreFine) {
  const auto spec = test::spec_of(with(kSpecText, "[\"LDX\", 1]", "[1, \"M\"]"));
  ASSERT_TRUE(spec) << to_string(spec.error());
  EXPECT_THAT(tensor(spec->cases.at("time").at(0), "x").stride, ElementsAre(1, 128));
}

TEST(Cases, SizesThatOverflowAreRefused) {
  EXPECT_THAT(case_errors(R"({"M": 1, "N": "2^62", "T": "float32", "values": {"offsets": [0, 1, 2, 3]}})"),
              HasSubstr("spans more than 2^48 bytes"));
  EXPECT_THAT(case_errors(R"({"M": "2^40", "N": "2^40", "T": "float32", "values": {"offsets": [0, 1, 2, 3]}})"),
              HasSubstr("spans more than 2^48 bytes"));
  EXPECT_THAT(case_errors(R"({"M": "2^63 - 1", "N": 1, "T": "float32", "values": {"offsets": [0, 1, 2, 3]}})"),
              HasSubstr("overflow"));
}

TEST(Cases, EmptyTensorsAreFine) {
  const auto spec = with_time_case(R"({"M": 0, "N": 8, "T": "float32", "values": {"offsets": [0, 1, 2, 3]}})");
  ASSERT_TRUE(spec) << to_string(spec.error());
  EXPECT_EQ(tensor(spec->cases.at("time").at(0), "y").elements(), 0);
  EXPECT_EQ(tensor(spec->cases.at("time").at(0), "y").span_bytes(), 0);
}

TEST(Cases, NegativeAxesAreRefused) {
  EXPECT_THAT(case_errors(R"({"M": 1, "N": "0 - 8", "T": "float32", "values": {"offsets": [0, 1, 2, 3]}})"),
              HasSubstr("the axis N is -8; it must not be negative"));
}

TEST(Cases, AxesOfACaseMustNotDependOnEachOtherInACircle) {
  EXPECT_THAT(case_errors(R"({"M": 1, "N": "LDX", "T": "float32", "values": {"offsets": [0, 1, 2, 3]}})"),
              HasSubstr("depends on itself in this case"));
}

TEST(Cases, EveryVarAxisNeedsAValue) {
  EXPECT_THAT(case_errors(R"({"M": 1, "T": "float32", "values": {"offsets": [0, 1, 2, 3]}})"),
              HasSubstr("$.cases.time[0]: the axis \"N\" has no value"));
}

TEST(Cases, UnknownKeysListWhatACaseMaySay) {
  const std::string error = case_errors(R"({"M": 1, "N": 8, "BLOCK": 4, "values": {"offsets": [0, 1, 2, 3]}})");
  EXPECT_THAT(error,
              HasSubstr("$.cases.time[0].BLOCK: unknown key \"BLOCK\"; allowed here: M, N, LDX, S1, T, eps, count, "
                        "with, family, values"));
}

TEST(Cases, WrongChoicesAreRefusedWithTheirPath) {
  EXPECT_THAT(case_errors(R"({"M": 1, "N": 8, "T": "int8", "values": {"offsets": [0, 1, 2, 3]}})"),
              HasSubstr("$.cases.time[0].T: \"int8\" is no dtype of T; allowed: bfloat16, float16, float32"));
  EXPECT_THAT(case_errors(R"({"M": 1, "N": 8, "with": ["x"], "values": {"offsets": [0, 1, 2, 3]}})"),
              HasSubstr("$.cases.time[0].with[0]: \"x\" is no optional tensor; allowed: bias, norm"));
  EXPECT_THAT(case_errors(R"({"M": 1, "N": [], "values": {"offsets": [0, 1, 2, 3]}})"),
              HasSubstr("$.cases.time[0].N: an empty list gives no case"));
  EXPECT_THAT(case_errors(R"({"M": 1, "N": 8, "family": "odd", "values": {"offsets": [0, 1, 2, 3]}})"),
              HasSubstr("$.cases.time[0].family: unknown family \"odd\""));
  EXPECT_THAT(case_errors(R"({"M": 1, "N": 8, "count": 2.5, "values": {"offsets": [0, 1, 2, 3]}})"),
              HasSubstr("the scalar \"count\" is 2.5, which is no int32"));
}

TEST(Cases, TheSameCaseTwiceIsRefused) {
  EXPECT_THAT(case_errors(R"({"M": 1, "N": [8, 8], "T": "float32", "values": {"offsets": [0, 1, 2, 3]}})"),
              HasSubstr("is there twice"));
}

TEST(Cases, HugeProductsAreRefusedBeforeTheyAreExpanded) {
  std::string list = "[0";
  for (int i = 1; i < 1000; ++i) {
    list += "," + std::to_string(i);
  }
  list += "]";
  EXPECT_THAT(case_errors("{\"M\": " + list + ", \"N\": " + list + ", \"values\": {\"offsets\": [0, 1]}}"),
              HasSubstr("more than 10000 cases in \"time\""));
}

TEST(Cases, SetsOtherThanTheFourAreRefused) {
  EXPECT_THAT(spec_errors(with(kSpecText, "\"time\": [", "\"timed\": [")),
              HasSubstr("$.cases.timed: unknown key \"timed\"; allowed here: check, time, emulate, held_out"));
}

TEST(Cases, ASpecWithoutCheckCasesIsRefused) {
  std::string text(kSpecText);
  const std::size_t begin = text.find("\"check\": [") + 10;
  text.erase(begin, text.find("],\n    \"time\"") - begin);
  EXPECT_THAT(spec_errors(text), HasSubstr("$.cases.check: at least one check case is needed"));
}

TEST(Scope, OfACaseHoldsAxesSizesAlignmentsAndPresence) {
  const Spec spec = good_spec();
  const Scope scope = scope_of(spec, spec.cases.at("time").at(0));
  EXPECT_EQ(scope.values.at("S1"), 4);
  EXPECT_EQ(scope.sizes.at("T"), 2);
  EXPECT_EQ(scope.sizes.at("bias"), 4);
  EXPECT_EQ(scope.alignments.at("x"), 16);
  EXPECT_TRUE(scope.present.at("x"));
  EXPECT_FALSE(scope.present.at("norm"));
}

TEST(Slice, KeepsInputStridesAndMakesOutputsDenseFloat64) {
  const auto spec = with_time_case(
      R"({"M": 8, "N": 8, "LDX": 24, "T": "float32", "with": ["norm"], "values": {"offsets": {"range": 0}}})");
  ASSERT_TRUE(spec) << to_string(spec.error());
  const Case& whole = spec->cases.at("time").at(0);
  const OrError<Case> slice = slice_of(*spec, whole, "M", 3);
  ASSERT_TRUE(slice) << to_string(slice.error());
  EXPECT_EQ(slice->axes.at("M"), 3);
  EXPECT_EQ(slice->axes.at("LDX"), 24);
  EXPECT_THAT(tensor(*slice, "x").extent, ElementsAre(3, 8));
  EXPECT_THAT(tensor(*slice, "x").stride, ElementsAre(24, 1));
  EXPECT_EQ(tensor(*slice, "x").dtype, Dtype::kFloat32);
  for (const char* name : {"y", "y__cond"}) {
    EXPECT_EQ(tensor(*slice, name).dtype, Dtype::kFloat64) << name;
    EXPECT_THAT(tensor(*slice, name).extent, ElementsAre(3, 8)) << name;
    EXPECT_THAT(tensor(*slice, name).stride, ElementsAre(8, 1)) << name;
    EXPECT_EQ(tensor(*slice, name).role, TensorRole::kOutput) << name;
  }
  EXPECT_THAT(tensor(*slice, "norm__cond").extent, ElementsAre(3));
}

TEST(Slice, GivesInoutTensorsTheirContentsBeforeTheLaunch) {
  const Spec spec = good_spec();
  const OrError<Case> slice = slice_of(spec, spec.cases.at("time").at(0), "M", 4);
  ASSERT_TRUE(slice) << to_string(slice.error());
  EXPECT_EQ(tensor(*slice, "state__in").role, TensorRole::kInput);
  EXPECT_EQ(tensor(*slice, "state__in").dtype, Dtype::kFloat32);
  EXPECT_EQ(tensor(*slice, "state").dtype, Dtype::kFloat64);
}

TEST(Slice, ConditionsOfAbsentOutputsAreAbsent) {
  const Spec spec = good_spec();
  const OrError<Case> slice = slice_of(spec, spec.cases.at("time").at(0), "M", 4);
  ASSERT_TRUE(slice);
  EXPECT_THAT(slice->absent, ElementsAre("bias", "norm", "norm__cond"));
}

TEST(Slice, WithoutAnAxisIsTheWholeCase) {
  const Spec spec = good_spec();
  const OrError<Case> slice = slice_of(spec, spec.cases.at("time").at(0), "", 0);
  ASSERT_TRUE(slice) << to_string(slice.error());
  EXPECT_EQ(slice->axes.at("M"), 128);
  EXPECT_EQ(tensor(*slice, "y").dtype, Dtype::kFloat64);
}

TEST(Slice, RefusesWhatIsNoPartOfTheCase) {
  const Spec spec = good_spec();
  const Case& of = spec.cases.at("time").at(0);
  EXPECT_FALSE(slice_of(spec, of, "M", 129));
  EXPECT_FALSE(slice_of(spec, of, "M", -1));
  EXPECT_FALSE(slice_of(spec, of, "LDX", 1));
  EXPECT_FALSE(slice_of(spec, of, "K", 1));
}

}  // namespace
}  // namespace kf
