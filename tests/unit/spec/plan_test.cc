// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>

#include "fixtures.h"

namespace kf {
namespace {

using test::good_plan;
using test::good_spec;
using test::kPlanText;
using test::plan_errors;
using test::with;
using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;

std::string errors_after(std::string_view from, std::string_view to) {
  return plan_errors(with(kPlanText, from, to));
}

TEST(LaunchPlan, ReadsEverything) {
  const LaunchPlan plan = good_plan();
  EXPECT_EQ(plan.hypothesis, "wide loads");
  EXPECT_EQ(plan.defines.size(), 2u);
  EXPECT_EQ(plan.tune[0].first, "ROWS");
  EXPECT_EQ(plan.workspaces[1].init, WorkspaceInit::kZeroRestored);
  ASSERT_EQ(plan.kernels.size(), 1u);
  EXPECT_EQ(plan.kernels[0].id, "main");
  EXPECT_EQ(plan.kernels[0].entry, "scale");
  EXPECT_EQ(plan.kernels[0].args[8].type, "i32");
  EXPECT_EQ(plan.json, kPlanText);
}

TEST(LaunchPlan, TheIdIsTheEntryUnlessGiven) {
  const LaunchPlan plan =
      good_plan(R"({"plan": 1, "kernels": [{"name": "k", "grid": [1], "block": [32], "args": []}]})");
  EXPECT_EQ(plan.kernels[0].id, "k");
}

TEST(LaunchPlan, ReadsLaunchAttributes) {
  const LaunchPlan plan = good_plan(R"({"plan": 1, "kernels": [{"name": "k", "grid": [1], "block": [32], "cluster": [2],
    "shared": "100 * 1024", "args": [], "when": "M > 1",
    "launch": {"cooperative": true, "pdl": true, "cluster_policy": "spread", "carveout": 50}}]})");
  const KernelSpec& kernel = plan.kernels[0];
  EXPECT_TRUE(kernel.cooperative && kernel.pdl && kernel.when);
  EXPECT_EQ(kernel.cluster_policy, "spread");
  EXPECT_EQ(kernel.carveout, 50);
  EXPECT_EQ(kernel.shared.text(), "100 * 1024");
}

TEST(LaunchPlan, RefusesUnknownKeys) {
  EXPECT_THAT(errors_after("\"grid\"", "\"gird\""),
              AllOf(HasSubstr("$.kernels[0].gird: unknown key \"gird\"; allowed here: id, name, when, repeat, grid"),
                    HasSubstr("did you mean \"grid\"?"), Not(HasSubstr("is missing"))));
}

TEST(LaunchPlan, RefusesAnotherVersion) {
  EXPECT_THAT(errors_after("\"plan\": 1", "\"plan\": 2"), HasSubstr("$.plan: found version 2, allowed: 1"));
}

TEST(LaunchPlan, MacroNamesHaveThreeLetters) {
  EXPECT_THAT(errors_after("\"VEC\"", "\"VC\""), HasSubstr("$.define.VC: \"VC\" is too short for a macro"));
  EXPECT_THAT(errors_after("\"ROWS\": [1", "\"R1_2\": [1"), HasSubstr("too short for a macro"));
  EXPECT_THAT(errors_after("\"VEC\"", "\"KF_VEC\""), HasSubstr("is reserved"));
  EXPECT_THAT(errors_after("\"VEC\"", "\"_VEC\""), HasSubstr("is reserved"));
  EXPECT_THAT(errors_after("\"VEC\"", "\"float\""), HasSubstr("is a C++ keyword"));
}

TEST(LaunchPlan, NamesAreUsedOnce) {
  EXPECT_THAT(errors_after("\"partial\": {", "\"VEC\": {"),
              HasSubstr("$.workspaces.VEC: the name \"VEC\" is taken by $.define.VEC"));
  EXPECT_THAT(errors_after("\"VEC\"", "\"ROWS\""), HasSubstr("is taken by $.tune.ROWS"));
}

TEST(LaunchPlan, TuneValuesAreDistinctIntegers) {
  EXPECT_THAT(errors_after("[1, 2, 4]", "[1, 2, 2]"), HasSubstr("$.tune.ROWS[2]: the value 2 is there twice"));
  EXPECT_THAT(errors_after("[1, 2, 4]", "[]"), HasSubstr("$.tune.ROWS: a tune name needs at least one value"));
  EXPECT_THAT(errors_after("[1, 2, 4]", "[1.5]"),
              HasSubstr("$.tune.ROWS[0]: found the number 1.5, expected an integer"));
}

TEST(LaunchPlan, TuneProductsAreBounded) {
  std::string list = "[1";
  for (int i = 2; i <= 1000; ++i) {
    list += "," + std::to_string(i);
  }
  EXPECT_THAT(errors_after("[1, 2, 4]", list + "]"), HasSubstr("$.tune: more than 1024 combinations"));
}

TEST(LaunchPlan, ArgumentsAreNamesOrTypedExpressions) {
  EXPECT_THAT(errors_after("\"M:i32\"", "\"M * N\""),
              HasSubstr("$.kernels[0].args[8]: found \"M * N\", expected the name of"));
  EXPECT_THAT(errors_after("\"M:i32\"", "\"M:int\""), HasSubstr("types: i32, u32, i64, u64, f32, f64"));
  EXPECT_THAT(errors_after("\"M:i32\"", "\"M *:i32\""), HasSubstr("a value is expected"));
  const LaunchPlan plan = good_plan(with(kPlanText, "\"M:i32\"", "\"M > 1 ? M : 1:u64\""));
  EXPECT_EQ(plan.kernels[0].args[8].type, "u64");
  EXPECT_EQ(plan.kernels[0].args[8].value->text(), "M > 1 ? M : 1");
}

TEST(LaunchPlan, DimsAreOneToThree) {
  EXPECT_THAT(errors_after("[\"32 * ROWS\"]", "[]"), HasSubstr("$.kernels[0].block: found 0 entries, allowed: 1 to 3"));
  EXPECT_THAT(errors_after("[\"32 * ROWS\"]", "[1, 1, 1, 1]"), HasSubstr("found 4 entries"));
}

TEST(LaunchPlan, ResidentNamesAKernelAndStaysOutOfBlocks) {
  EXPECT_THAT(errors_after("resident(main)", "resident(mian)"),
              AllOf(HasSubstr("$.kernels[0].grid[0]: resident(mian) names no kernel; known: main"),
                    HasSubstr("did you mean \"main\"?")));
  EXPECT_THAT(errors_after("32 * ROWS", "min(32, resident(main))"),
              HasSubstr("$.kernels[0].block[0]: resident(main) cannot be used here"));
  EXPECT_THAT(errors_after("\"ROW_LEN\": \"N\"", "\"ROW_LEN\": \"resident(main)\""), HasSubstr("cannot be a macro"));
}

TEST(LaunchPlan, WaitsNameEarlierKernels) {
  const auto plan = [](std::string_view first, std::string_view second) {
    return R"({"plan": 1, "kernels": [{"id": "a", "name": "k", "grid": [1], "block": [32], "args": [], "after": [)" +
           std::string(first) + R"(]}, {"id": "b", "name": "k", "grid": [1], "block": [32], "args": [], "after": [)" +
           std::string(second) + R"(], "repeat": {"s": 3}}]})";
  };
  EXPECT_TRUE(parse_plan(plan("", "\"a\", \"b[s-1]\""), ""));
  EXPECT_THAT(plan_errors(plan("\"b\"", "")),
              HasSubstr("$.kernels[0].after[0]: \"a\" waits for \"b\", which is not launched before"));
  EXPECT_THAT(plan_errors(plan("\"a\"", "")), HasSubstr("which is not launched before"));
  EXPECT_THAT(plan_errors(plan("", "\"c\"")), HasSubstr("$.kernels[1].after[0]: unknown kernel \"c\"; known: a, b"));
  EXPECT_THAT(plan_errors(plan("", "\"a[0]\"")), HasSubstr("\"a\" has no \"repeat\""));
  EXPECT_THAT(plan_errors(plan("", "\"b[s-\"")), HasSubstr("expected a kernel's id"));
  EXPECT_THAT(plan_errors(plan("", "\"b[s-]\"")), HasSubstr("in the index of \"b[s-]\""));
}

TEST(LaunchPlan, RepeatHasOneVariable) {
  const std::string text =
      with(kPlanText, "\"name\": \"scale\"", "\"name\": \"scale\", \"repeat\": {\"s\": 2, \"t\": 3}");
  EXPECT_THAT(plan_errors(text), HasSubstr("$.kernels[0].repeat: found 2 variables, expected one"));
  EXPECT_THAT(plan_errors(with(kPlanText, "\"name\": \"scale\"", "\"name\": \"scale\", \"repeat\": {\"VEC\": 2}")),
              HasSubstr("is taken by $.define.VEC"));
}

TEST(LaunchPlan, KernelIdsAreDistinct) {
  EXPECT_THAT(plan_errors(R"({"plan": 1, "kernels": [{"name": "k", "grid": [1], "block": [32], "args": []},
                             {"name": "k", "grid": [1], "block": [32], "args": []}]})"),
              HasSubstr("$.kernels[1]: the kernel id \"k\" is there twice"));
}

TEST(LaunchPlan, NeedsAKernel) {
  EXPECT_THAT(plan_errors(R"({"plan": 1, "kernels": []})"), HasSubstr("$.kernels: found 0 kernels, allowed: 1 to 64"));
}

TEST(LaunchPlan, CarveoutIsAPercentage) {
  const auto launch = [](std::string_view value) {
    return with(kPlanText, "\"name\": \"scale\"",
                "\"name\": \"scale\", \"launch\": {\"carveout\": " + std::string(value) + "}");
  };
  EXPECT_THAT(plan_errors(launch("101")), HasSubstr("$.kernels[0].launch.carveout: found 101, allowed: 0 to 100"));
  EXPECT_THAT(plan_errors(launch("\"big\"")), HasSubstr("allowed: \"default\" or 0 to 100"));
  EXPECT_EQ(good_plan(launch("\"default\"")).kernels[0].carveout, std::nullopt);
}

TEST(LaunchPlan, TensorMapsHaveMatchingRanks) {
  const auto map = [](std::string_view body) {
    return with(kPlanText, "\"kernels\"",
                "\"tensor_maps\": {\"x_map\": {\"tensor\": \"x\", " + std::string(body) + "}}, \"kernels\"");
  };
  EXPECT_TRUE(parse_plan(map(R"("dims": ["N", "M"], "strides_bytes": ["LDX * 2"], "box": [64, 8])"), ""));
  EXPECT_THAT(plan_errors(map(R"("dims": ["N", "M"], "strides_bytes": [], "box": [64, 8])")),
              HasSubstr("$.tensor_maps.x_map.strides_bytes: found 0 entries, expected 1"));
  EXPECT_THAT(plan_errors(map(R"("dims": ["N", "M"], "strides_bytes": ["2"], "box": [64])")),
              HasSubstr("$.tensor_maps.x_map.box: found 1 entries, expected 2"));
  EXPECT_THAT(plan_errors(map(R"("dims": [1,1,1,1,1,1], "strides_bytes": [16,16,16,16,16], "box": [1,1,1,1,1,1])")),
              HasSubstr("found 6 dims, allowed: 1 to 5"));
  EXPECT_THAT(plan_errors(map(R"("dims": ["N"], "box": [64], "swizzle": "256B")")),
              HasSubstr("$.tensor_maps.x_map.swizzle: found \"256B\", allowed: \"none\", \"32B\", \"64B\", \"128B\""));
}

TEST(TunePoints, FirstNameIsSlowest) {
  std::vector<std::string> found;
  for (const Assignment& point : tune_points(good_plan())) {
    found.push_back(std::to_string(point.at("ROWS")) + "," + std::to_string(point.at("STAGES")));
  }
  EXPECT_THAT(found, ElementsAre("1,2", "1,3", "2,2", "2,3", "4,2", "4,3"));
}

TEST(TunePoints, APlanWithoutTuneHasOneEmptyPoint) {
  EXPECT_THAT(
      tune_points(good_plan(R"({"plan": 1, "kernels": [{"name": "k", "grid": [1], "block": [32], "args": []}]})")),
      ElementsAre(Assignment{}));
}

TEST(TunePoints, SelectChoosesTheFirstEntryThatHolds) {
  const LaunchPlan plan = good_plan(with(
      kPlanText, "\"workspaces\"",
      R"("select": [{"when": "N <= 512", "set": {"ROWS": 4}}, {"when": "M == 1", "set": {"ROWS": 1, "STAGES": 3}}], "workspaces")"));
  const std::vector<Assignment> points = tune_points(plan);
  ASSERT_EQ(points.size(), 1u);
  Scope scope;
  scope.values = {{"M", 1}, {"N", 256}};
  EXPECT_EQ(assignment_for(plan, scope, points[0]).value(), (Assignment{{"ROWS", 4}, {"STAGES", 2}}));
  scope.values["N"] = 1024;
  EXPECT_EQ(assignment_for(plan, scope, points[0]).value(), (Assignment{{"ROWS", 1}, {"STAGES", 3}}));
  scope.values["M"] = 5;
  EXPECT_EQ(assignment_for(plan, scope, points[0]).value(), points[0]);
  scope.values.erase("M");
  EXPECT_FALSE(assignment_for(plan, scope, points[0]));
}

TEST(TunePoints, SelectMayBringItsOwnNamesWhenEveryCaseGetsThem) {
  const auto select = [](std::string_view list) {
    return R"({"plan": 1, "select": )" + std::string(list) +
           R"(, "kernels": [{"name": "k", "grid": [1], "block": ["WIDTH"], "args": []}]})";
  };
  EXPECT_TRUE(parse_plan(select(R"([{"when": "N < 8", "set": {"WIDTH": 32}}, {"set": {"WIDTH": 64}}])"), ""));
  EXPECT_THAT(plan_errors(select(R"([{"when": "N < 8", "set": {"WIDTH": 32}}])")),
              HasSubstr("\"WIDTH\" is not in \"tune\" and some case would leave it without a value"));
  EXPECT_THAT(plan_errors(select(R"([{"set": {"WI": 32}}])")), HasSubstr("too short"));
}

TEST(BuildRequest, DefinesMacrosInOrderThenTuneValues) {
  const Spec spec = good_spec();
  const Candidate candidate{good_plan(), "source"};
  const auto request =
      build_request(spec, candidate, spec.cases.at("time")[0], tune_points(candidate.plan)[3], test::h200());
  ASSERT_TRUE(request) << to_string(request.error());
  EXPECT_THAT(request->defines, ElementsAre("VEC=8", "ROW_LEN=4096", "ROWS=2", "STAGES=3"));
  EXPECT_EQ(request->arch, "sm_90a");
  EXPECT_EQ(request->source, "source");
  EXPECT_THAT(request->flags, ElementsAre("--use_fast_math"));
}

TEST(BuildRequest, IsEqualForCasesThatDifferInNothingTheCodeSees) {
  const Spec spec = good_spec();
  const Candidate candidate{good_plan(), ""};
  const auto& cases = spec.cases.at("check");  // M = 1 and M = 3, N = 64, bfloat16
  const auto first = build_request(spec, candidate, cases[0], tune_points(candidate.plan)[0], test::h200());
  const auto other = build_request(spec, candidate, cases[4], tune_points(candidate.plan)[0], test::h200());
  EXPECT_EQ(first->defines, other->defines);
  EXPECT_EQ(first->prelude, other->prelude);
}

TEST(BuildRequest, SelectsByCaseAndDeviceByItself) {
  const Spec spec = good_spec();
  const Candidate candidate{
      good_plan(with(kPlanText, "\"workspaces\"",
                     R"("select": [{"when": "M >= 128 && sm_count == 132", "set": {"ROWS": 4}}], "workspaces")")),
      ""};
  const Assignment chosen = tune_points(candidate.plan).front();
  EXPECT_THAT(build_request(spec, candidate, spec.cases.at("time")[0], chosen, test::h200())->defines,
              ElementsAre("VEC=8", "ROW_LEN=4096", "ROWS=4", "STAGES=2"));
  EXPECT_THAT(build_request(spec, candidate, spec.cases.at("check")[0], chosen, test::h200())->defines,
              ElementsAre("VEC=8", "ROW_LEN=64", "ROWS=1", "STAGES=2"));
}

TEST(BuildRequest, PutsNegativeValuesInParentheses) {
  const Spec spec = good_spec();
  const Candidate candidate{good_plan(with(kPlanText, "\"ROW_LEN\": \"N\"", "\"ROW_LEN\": \"0 - N\"")), ""};
  const auto request =
      build_request(spec, candidate, spec.cases.at("time")[0], tune_points(candidate.plan)[0], test::h200());
  EXPECT_EQ(request->defines[1], "ROW_LEN=(-4096)");
}

TEST(BuildRequest, DefinesMayUseThoseBeforeThemAndTheDevice) {
  const Spec spec = good_spec();
  const Candidate candidate{good_plan(with(kPlanText, "\"ROW_LEN\": \"N\"", "\"ROW_LEN\": \"VEC * ROWS * sm_count\"")),
                            ""};
  const auto request =
      build_request(spec, candidate, spec.cases.at("time")[0], tune_points(candidate.plan)[2], test::h200());
  EXPECT_EQ(request->defines[1], "ROW_LEN=2112");
}

TEST(BuildRequest, RefusesNamesThatClashWithAxes) {
  const Spec spec = good_spec();
  const Case& of = spec.cases.at("time")[0];
  const Candidate tuned{good_plan(with(kPlanText, "\"STAGES\": [2, 3]", "\"BLOCK\": [1]")), ""};
  EXPECT_THAT(to_string(build_request(spec, tuned, of, tune_points(tuned.plan)[0], test::h200()).error()),
              HasSubstr("$.tune.BLOCK: \"BLOCK\" is an axis of the spec"));
  const Candidate same{good_plan(with(kPlanText, "\"ROW_LEN\": \"N\"", "\"LDX\": \"LDX\"")), ""};
  EXPECT_TRUE(build_request(spec, same, of, tune_points(same.plan)[0], test::h200()));
  const Candidate other{good_plan(with(kPlanText, "\"ROW_LEN\": \"N\"", "\"LDX\": \"LDX + 1\"")), ""};
  EXPECT_THAT(to_string(build_request(spec, other, of, tune_points(other.plan)[0], test::h200()).error()),
              HasSubstr("\"LDX\" is 4097 here but the axis of that name is 4096"));
}

TEST(BuildRequest, ReportsUnknownNamesWithTheirPath) {
  const Spec spec = good_spec();
  const Candidate candidate{good_plan(with(kPlanText, "\"ROW_LEN\": \"N\"", "\"ROW_LEN\": \"K\"")), ""};
  EXPECT_THAT(
      to_string(build_request(spec, candidate, spec.cases.at("time")[0], tune_points(candidate.plan)[0], test::h200())
                    .error()),
      HasSubstr("$.define.ROW_LEN, column 1: unknown name \"K\""));
}

TEST(Prelude, NamesTheTypesOfTheCase) {
  const Spec spec = good_spec();
  const std::string text = prelude_for(spec, spec.cases.at("check")[0]);
  EXPECT_THAT(text, AllOf(HasSubstr("using T = __nv_bfloat16;"), HasSubstr("#define KF_T_BFLOAT16 1"),
                          HasSubstr("#include <cuda_bf16.h>"), HasSubstr("struct alignas(64) CUtensorMap_st")));
  EXPECT_THAT(text, testing::Not(HasSubstr("cuda_fp16.h")));
}

TEST(Prelude, IncludesNothingForBuiltInTypes) {
  const Spec spec = good_spec();
  const std::string text = prelude_for(spec, spec.cases.at("check")[1]);
  EXPECT_THAT(text, AllOf(HasSubstr("using T = float;"), HasSubstr("#define KF_T_FLOAT32 1")));
  EXPECT_THAT(text, testing::Not(HasSubstr("#include")));
}

}  // namespace
}  // namespace kf
