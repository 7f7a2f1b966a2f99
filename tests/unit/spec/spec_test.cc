// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>

#include <algorithm>
#include <filesystem>
#include <fstream>

#include "fixtures.h"

namespace kf {
namespace {

using test::good_spec;
using test::kSpecText;
using test::spec_errors;
using test::with;
using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;

std::string errors_after(std::string_view from, std::string_view to) {
  return spec_errors(with(kSpecText, from, to));
}

TEST(Spec, ReadsItsHead) {
  const Spec spec = good_spec();
  EXPECT_EQ(spec.name, "scale_rows");
  EXPECT_EQ(spec.op_type, "elementwise");
  EXPECT_EQ(spec.arch, "sm_90a");
  EXPECT_EQ(spec.nonfinite, Nonfinite::kPropagate);
  EXPECT_THAT(spec.tags, ElementsAre("small"));
  EXPECT_EQ(spec.json, kSpecText);
}

TEST(Spec, KeepsAxesInTheOrderOfTheFile) {
  std::vector<std::string> names;
  for (const auto& [name, axis] : good_spec().axes) {
    names.push_back(name);
  }
  EXPECT_THAT(names, ElementsAre("M", "N", "LDX", "S1", "BLOCK"));
}

TEST(Spec, ReadsTensorsInputsFirst) {
  const Spec spec = good_spec();
  ASSERT_EQ(spec.tensors.size(), 8u);
  EXPECT_EQ(spec.tensors[0].name, "x");
  EXPECT_EQ(spec.tensors[0].strides.size(), 2u);
  EXPECT_TRUE(spec.tensors[1].optional);
  EXPECT_TRUE(spec.tensors[2].values_from_case);
  EXPECT_TRUE(spec.tensors[3].scalar);
  EXPECT_EQ(spec.tensors[3].default_value, 0.5);
  EXPECT_EQ(spec.tensors[5].role, TensorRole::kOutput);
  EXPECT_EQ(spec.tensors[7].role, TensorRole::kInout);
}

TEST(Spec, ReadsBoundsLimitsAndObjective) {
  const Spec spec = good_spec();
  EXPECT_EQ(spec.tolerance.at("y"), (Bound{.ulp = 1, .acc = 2, .condition = "y__cond"}));
  EXPECT_EQ(spec.tolerance.at("state"), (Bound{.ulp = 1, .rms = 2, .region = {"M"}}));
  EXPECT_TRUE(spec.limits.deterministic);
  EXPECT_EQ(spec.limits.workspace_bytes.evaluate({}).value(), 1 << 22);
  EXPECT_THAT(spec.limits.nvrtc_flags, ElementsAre("--use_fast_math"));
  EXPECT_THAT(spec.limits.allow, ElementsAre("clock"));
  EXPECT_EQ(spec.objective.state, CacheState::kWarm);
  EXPECT_EQ(spec.objective.veto, 0.25);
}

TEST(Spec, ReadsTheFilesThatItNames) {
  const Spec spec = good_spec();
  EXPECT_EQ(spec.reference.cuda.content, "content of scale.ref.cu");
  EXPECT_EQ(spec.reference.slice, "M");
  ASSERT_EQ(spec.baselines.size(), 2u);
  EXPECT_EQ(spec.baselines[1].kind, BaselineSpec::Kind::kPython);
  EXPECT_EQ(spec.baselines[1].source.content, "content of scale.py");
}

TEST(Spec, RefusesWhatIsNotJson) {
  EXPECT_THAT(spec_errors("{"), HasSubstr("$: not JSON: "));
  EXPECT_THAT(spec_errors(""), HasSubstr("not JSON"));
  EXPECT_THAT(spec_errors("// comment\n{}"), HasSubstr("no comments"));
  EXPECT_THAT(spec_errors("[]"), HasSubstr("$: found a list of 0, expected an object (spec)"));
}

TEST(Spec, RefusesUnknownKeysAndSuggestsTheNearest) {
  const std::string error = errors_after("\"tolerance\"", "\"tolerence\"");
  EXPECT_THAT(error, HasSubstr("$.tolerence: unknown key \"tolerence\"; allowed here: kfactory_spec, name,"));
  EXPECT_THAT(error, HasSubstr("did you mean \"tolerance\"?"));
  EXPECT_THAT(error, Not(HasSubstr("is missing"))) << "said once";
  EXPECT_THAT(errors_after("\"tolerance\"", "\"precision\""), HasSubstr("$: the key \"tolerance\" is missing"));
}

TEST(Spec, RefusesRepeatedKeys) {
  EXPECT_THAT(errors_after("\"nonfinite\"", "\"op_type\""), HasSubstr("$.op_type: the key \"op_type\" is there twice"));
}

TEST(Spec, FindsAllErrorsAtOnce) {
  std::string text = with(kSpecText, "\"align\": 16", "\"align\": 3");
  text = with(text, "[\"LDX\", 1]", "[\"Q\", 1]");
  text = with(text, "\"veto\": 0.25", "\"veto\": -1");
  const OrErrors<Spec> spec = test::spec_of(text);
  ASSERT_FALSE(spec);
  EXPECT_EQ(spec.error().size(), 3u) << to_string(spec.error());
  EXPECT_THAT(to_string(spec.error()),
              AllOf(HasSubstr("$.inputs.x.align"), HasSubstr("$.inputs.x.strides[0]"),
                    HasSubstr("$.objective.veto: found the number -1, expected a number of at least 0")));
}

TEST(Spec, ChecksItsVersion) {
  EXPECT_THAT(errors_after("\"kfactory_spec\": 1", "\"kfactory_spec\": 2"),
              HasSubstr("$.kfactory_spec: found version 2, this program reads version 1"));
}

TEST(Spec, RefusesWrongTypesOfValues) {
  EXPECT_THAT(errors_after("\"name\": \"scale_rows\"", "\"name\": 3"),
              HasSubstr("$.name: found the number 3, expected a string"));
  EXPECT_THAT(errors_after("\"optional\": true},\n    \"offsets\"", "\"optional\": 1},\n    \"offsets\""),
              HasSubstr("$.inputs.bias.optional: found the number 1, expected true or false"));
  EXPECT_THAT(errors_after("[\"S1\"]", "\"S1\""), HasSubstr("$.inputs.offsets.shape: found \"S1\", expected a list"));
  EXPECT_THAT(
      errors_after("[\"M\", 2]", "[\"M\", 2.5]"),
      HasSubstr("$.outputs.state.shape[1]: found the number 2.5, expected an expression (a string) or an integer"));
}

TEST(Spec, NamesTheDtypesThatItKnows) {
  EXPECT_THAT(errors_after("\"shape\": [\"N\"], \"dtype\": \"float32\"", "\"shape\": [\"N\"], \"dtype\": \"floot32\""),
              AllOf(HasSubstr("$.inputs.bias.dtype: unknown dtype \"floot32\"; allowed: T, float64, float32"),
                    HasSubstr("did you mean \"float32\"?")));
  EXPECT_THAT(errors_after("[\"bfloat16\", \"float16\", \"float32\"]", "[\"bf16\"]"),
              HasSubstr("$.types.T[0]: unknown dtype \"bf16\""));
}

TEST(Spec, RefusesEmptyAndRepeatedDtypesOfAType) {
  EXPECT_THAT(errors_after("[\"bfloat16\", \"float16\", \"float32\"]", "[]"),
              HasSubstr("$.types.T: a type needs at least one"));
  EXPECT_THAT(errors_after("[\"bfloat16\", \"float16\", \"float32\"]", "[\"float32\", \"float32\"]"),
              HasSubstr("$.types.T[1]: \"float32\" is there twice"));
}

TEST(Spec, RefusesNamesThatAreNoIdentifiers) {
  EXPECT_THAT(errors_after("\"BLOCK\":", "\"4you\":"), HasSubstr("$.axes.4you: \"4you\" is no name"));
  EXPECT_THAT(errors_after("\"BLOCK\":", "\"a-b\":"), HasSubstr("$.axes[\"a-b\"]: \"a-b\" is no name"));
  EXPECT_THAT(errors_after("\"BLOCK\":", "\"int\":"), HasSubstr("is a C++ keyword"));
  EXPECT_THAT(errors_after("\"BLOCK\":", "\"sm_count\":"), HasSubstr("has a meaning of its own in expressions"));
  EXPECT_THAT(errors_after("\"BLOCK\":", "\"values\":"), HasSubstr("is a key of cases"));
  EXPECT_THAT(errors_after("\"BLOCK\":", "\"norm__cond\":"), HasSubstr("reserved for references"));
}

TEST(Spec, RefusesANameThatIsTakenByAnotherSection) {
  EXPECT_THAT(errors_after("\"BLOCK\":", "\"x\":"), HasSubstr("$.inputs.x: the name \"x\" is taken by $.axes.x"));
}

TEST(Spec, RefusesAxesThatDependOnThemselves) {
  std::string text = with(kSpecText, "\"expression\": \"N\"", "\"expression\": \"S1 - 1\"");
  text = with(text, "\"expression\": \"BLOCK / 4\"", "\"expression\": \"LDX + 1\"");
  EXPECT_THAT(spec_errors(text),
              HasSubstr("$.axes.LDX.expression: the axis \"LDX\" depends on itself, through \"S1\""));
}

TEST(Spec, RefusesUnknownAxesInExpressions) {
  EXPECT_THAT(errors_after("\"LDX >= N\"", "\"LDX >= NN\""),
              HasSubstr("$.constraints[0]: unknown axis \"NN\" in \"LDX >= NN\"; known: M, N, LDX, S1, BLOCK"));
  EXPECT_THAT(errors_after("\"flops\": \"4*M*N\"", "\"flops\": \"4*M*K\""),
              HasSubstr("$.work.flops: unknown axis \"K\""));
}

TEST(Spec, ReportsSyntaxErrorsOfExpressionsWithTheirColumn) {
  EXPECT_THAT(errors_after("\"flops\": \"4*M*N\"", "\"flops\": \"4**N\""),
              HasSubstr("$.work.flops: column 3: found '*'"));
}

TEST(Spec, AxisKindsHaveTheirOwnKeys) {
  EXPECT_THAT(errors_after("{\"type\": \"const\", \"value\": 16}", "{\"type\": \"const\"}"),
              HasSubstr("$.axes.BLOCK: a const axis needs \"value\""));
  EXPECT_THAT(errors_after("{\"type\": \"const\", \"value\": 16}", "{\"type\": \"var\", \"value\": 16}"),
              HasSubstr("only a const axis has \"value\""));
  EXPECT_THAT(errors_after("{\"type\": \"const\", \"value\": 16}", "{\"type\": \"fixed\", \"value\": 16}"),
              HasSubstr("$.axes.BLOCK.type: found \"fixed\", allowed: \"const\", \"var\", \"expr\""));
  EXPECT_THAT(errors_after("{\"type\": \"const\", \"value\": 16}", "{\"type\": \"const\", \"value\": -1}"),
              HasSubstr("$.axes.BLOCK.value: found -1"));
}

TEST(Spec, ScalarsHaveNoTensorKeys) {
  EXPECT_THAT(errors_after("\"dtype\": \"float32\", \"default\": 0.5",
                           "\"dtype\": \"float32\", \"align\": 4, \"optional\": true"),
              AllOf(HasSubstr("$.inputs.eps.align: a scalar (\"shape\": null) has no align"),
                    HasSubstr("$.inputs.eps.optional: a scalar cannot be optional")));
  EXPECT_THAT(errors_after("\"shape\": [\"M\"], \"dtype\": \"float32\", \"optional\": true",
                           "\"shape\": null, \"dtype\": \"float32\""),
              HasSubstr("$.outputs.norm.shape: an output must be a tensor"));
}

TEST(Spec, StridesMustMatchDims) {
  EXPECT_THAT(errors_after("[\"LDX\", 1]", "[1]"), HasSubstr("$.inputs.x.strides: found 1 strides for 2 dims"));
}

TEST(Spec, FloatingOutputsNeedATolerance) {
  EXPECT_THAT(errors_after("\"norm\": {\"ulp\": 1, \"acc\": 1, \"cond\": \"norm__cond\"},", ""),
              HasSubstr("$.tolerance: the output \"norm\" has no tolerance"));
  EXPECT_THAT(errors_after("\"norm\": {\"ulp\": 1, \"acc\": 1", "\"nrm\": {\"ulp\": 1, \"acc\": 1"),
              AllOf(HasSubstr("$.tolerance.nrm: \"nrm\" is no output; outputs: y, norm, state"),
                    Not(HasSubstr("has no tolerance"))));
}

TEST(Spec, OutputsOfIntegersRefuseFiguresForRoundingErrors) {
  std::string text =
      with(kSpecText, "\"shape\": [\"M\"], \"dtype\": \"float32\"", "\"shape\": [\"M\"], \"dtype\": \"int8\"");
  const std::string norm = "\"norm\": {\"ulp\": 1, \"acc\": 1, \"cond\": \"norm__cond\"}";
  const auto errors = [&](const std::string& tolerance) {
    return spec_errors(with(text, norm, "\"norm\": {" + tolerance + "}"));
  };
  for (const char* key : {"ulp", "acc", "rms"}) {
    EXPECT_THAT(errors("\"" + std::string(key) + "\": 1"),
                AllOf(HasSubstr("$.tolerance.norm." + std::string(key) + ": \"norm\" is an output of integers"),
                      HasSubstr("allowed: ties, ill_conditioned")));
  }
  EXPECT_THAT(errors("\"cond\": \"norm__cond\""), HasSubstr("$.tolerance.norm.cond: "));
  EXPECT_THAT(errors("\"exact\": [\"normal\"]"), HasSubstr("$.tolerance.norm.exact: "));
  EXPECT_THAT(errors("\"rms\": 1, \"region\": [\"M\"]"), HasSubstr("$.tolerance.norm.region: "));
  EXPECT_EQ(errors("\"ulp\": 1, \"ill_conditioned\": 0.01").find("norm.ill_conditioned"), std::string::npos);
  const OrErrors<Spec> spec = test::spec_of(with(text, norm, "\"norm\": {\"ill_conditioned\": 0.01}"));
  ASSERT_TRUE(spec) << to_string(spec.error());
  EXPECT_EQ(spec->tolerance.at("norm"), (Bound{.ulp = 0, .ill_conditioned = 0.01}));
}

TEST(Spec, AnUnknownDtypeIsTheOnlyErrorOfItsOutput) {
  std::string text = with(kSpecText, "\"norm\": {\"ulp\": 1, \"acc\": 1, \"cond\": \"norm__cond\"},", "");
  text = with(text, "\"shape\": [\"M\"], \"dtype\": \"float32\"", "\"shape\": [\"M\"], \"dtype\": \"int4\"");
  const std::string error = spec_errors(text);
  EXPECT_THAT(error, HasSubstr("$.outputs.norm.dtype: unknown dtype \"int4\"; allowed: T, float64"));
  EXPECT_THAT(error, AllOf(Not(HasSubstr("did you mean")), Not(HasSubstr("has no tolerance"))));
  EXPECT_THAT(errors_after("\"shape\": [\"M\"], \"dtype\": \"float32\"", "\"shape\": [\"M\"], \"dtype\": \"flaot32\""),
              HasSubstr("did you mean \"float32\"?"));
}

TEST(Spec, IntegerOutputsAreExactWithoutATolerance) {
  std::string text = with(kSpecText, "\"norm\": {\"ulp\": 1, \"acc\": 1, \"cond\": \"norm__cond\"},", "");
  text = with(text, "\"shape\": [\"M\"], \"dtype\": \"float32\"", "\"shape\": [\"M\"], \"dtype\": \"int32\"");
  const OrErrors<Spec> spec = test::spec_of(text);
  ASSERT_TRUE(spec) << to_string(spec.error());
  EXPECT_EQ(spec->tolerance.at("norm"), (Bound{.ulp = 0}));
}

TEST(Spec, ConditionsEndInCond) {
  EXPECT_THAT(errors_after("\"cond\": \"y__cond\"", "\"cond\": \"ycond\""),
              HasSubstr("$.tolerance.y.cond: found \"ycond\""));
}

TEST(Spec, RegionsAreDimsOfTheOutput) {
  EXPECT_THAT(errors_after("\"region\": [\"M\"]", "\"region\": [\"N\"]"),
              HasSubstr("$.tolerance.state.region[0]: \"N\" is no dim of \"state\"; allowed: M, 2"));
}

TEST(Spec, SlicesAlongAPlainDimOfEveryOutput) {
  EXPECT_THAT(errors_after("\"slice\": \"M\"", "\"slice\": \"N\""),
              HasSubstr("$.reference.slice: cannot slice along N: it must be exactly one dim of the output \"norm\""));
  EXPECT_THAT(errors_after("\"slice\": \"M\"", "\"slice\": \"K\""), HasSubstr("$.reference.slice: unknown axis \"K\""));
}

TEST(Spec, RefusesToSliceWhereADimOnlyDependsOnTheAxis) {
  // With M + 1 offsets, a range of rows is no range of offsets.
  EXPECT_THAT(errors_after("\"expression\": \"BLOCK / 4\"", "\"expression\": \"M + 1\""),
              HasSubstr("$.reference.slice: cannot slice along M: \"offsets\" has the dim \"S1\""));
}

TEST(Spec, NamesTheFamiliesThatItKnows) {
  EXPECT_THAT(errors_after("[\"normal\", \"large\"]", "[\"normal\", \"huge\"]"),
              HasSubstr("$.families.x[1]: unknown family \"huge\"; known: normal, large"));
  EXPECT_THAT(errors_after("\"bias\": [\"normal\"]}", "\"eps\": [\"normal\"]}"),
              HasSubstr("$.families.eps: \"eps\" is no input tensor"));
}

TEST(Spec, RelationsNameTheirArgument) {
  EXPECT_THAT(errors_after("\"permute:M\"", "\"permute\""),
              HasSubstr("$.relations[0]: found \"permute\", allowed: permute:AXIS, scale:INPUT, concat:AXIS"));
  EXPECT_THAT(errors_after("\"scale:x\"", "\"scale:M\""), HasSubstr("$.relations[1]: \"M\" is no input"));
}

TEST(Spec, AllowsKnownArchitecturesFlagsAndRegistersOnly) {
  EXPECT_THAT(errors_after("\"sm_90a\"", "\"sm_91\""), HasSubstr("$.target.arch: found \"sm_91\", allowed: \"sm_80\""));
  EXPECT_THAT(errors_after("\"--use_fast_math\"", "\"-I/etc\""),
              HasSubstr("$.limits.nvrtc_flags[0]: found \"-I/etc\", allowed"));
  EXPECT_THAT(errors_after("\"clock\"", "\"smid\""),
              HasSubstr("$.limits.allow[0]: found \"smid\", allowed: \"clock\""));
}

TEST(Spec, RefusesFilesOutsideItsFolder) {
  for (const char* path : {"/etc/passwd", "../x.cu", "a/../../x.cu", "a\\\\b.cu"}) {
    EXPECT_THAT(errors_after("scale.ref.cu", path), HasSubstr("$.reference.cuda: the file \"")) << path;
  }
  EXPECT_TRUE(test::spec_of(with(kSpecText, "scale.ref.cu", "below/scale..ref.cu")));
}

TEST(Spec, PassesOnWhyAFileCannotBeRead) {
  const auto missing = [](const std::string& path) -> OrError<std::string> {
    return std::unexpected(Error{"", "no file " + path, ""});
  };
  const OrErrors<Spec> spec = parse_spec(kSpecText, missing);
  ASSERT_FALSE(spec);
  EXPECT_THAT(to_string(spec.error()), AllOf(HasSubstr("$.reference.cuda: no file scale.ref.cu"),
                                             HasSubstr("$.baselines[1].python: no file scale.py")));
}

TEST(Spec, ABaselineIsEitherCudaOrPython) {
  EXPECT_THAT(errors_after("\"python\": \"scale.py\"", "\"python\": \"scale.py\", \"cuda\": \"x.cu\""),
              HasSubstr("$.baselines[1]: a baseline has either \"cuda\" or \"python\""));
  EXPECT_THAT(errors_after("\"name\": \"torch\"", "\"name\": \"naive\""),
              HasSubstr("$.baselines[1].name: the baseline \"naive\" is there twice"));
}

TEST(Spec, LoadsFromDiskAndPutsFileAndLineBeforeThePath) {
  const std::filesystem::path folder = std::filesystem::path(testing::TempDir()) / "kf_spec_test";
  std::filesystem::create_directories(folder);
  const std::string path = (folder / "scale.json").string();
  const std::string text = with(kSpecText, "\"veto\": 0.25", "\"veto\": \"x\"");
  const auto line = 1 + std::count(text.begin(), text.begin() + static_cast<std::ptrdiff_t>(text.find("veto")), '\n');
  std::ofstream(path) << text;
  std::ofstream(folder / "scale.ref.cu") << "reference";
  std::ofstream(folder / "scale.naive.cu") << "naive";
  const OrErrors<Spec> spec = load_spec(path);
  ASSERT_FALSE(spec);
  EXPECT_THAT(to_string(spec.error()),
              AllOf(HasSubstr(path + ":" + std::to_string(line) + " $.objective.veto: found \"x\", expected a number"),
                    HasSubstr("$.baselines[1].python: the file \"scale.py\" does not exist")));
  std::filesystem::remove_all(folder);
}

TEST(Spec, SaysThatTheSpecItselfIsMissing) {
  const OrErrors<Spec> spec = load_spec("no/such/spec.json");
  ASSERT_FALSE(spec);
  EXPECT_THAT(to_string(spec.error()), HasSubstr("no/such/spec.json"));
}

TEST(Spec, WorksOutWork) {
  const Spec spec = good_spec();
  const Case& of = spec.cases.at("time").at(0);
  const OrError<Work> work = work_of(spec, of);
  ASSERT_TRUE(work) << to_string(work.error());
  EXPECT_EQ(work->read_bytes, 128 * 4096 * 2);
  EXPECT_EQ(work->flops, 4 * 128 * 4096);
}

TEST(Spec, RefusesNegativeWork) {
  const OrErrors<Spec> spec = test::spec_of(with(kSpecText, "\"flops\": \"4*M*N\"", "\"flops\": \"-M\""));
  ASSERT_TRUE(spec) << to_string(spec.error());
  EXPECT_FALSE(work_of(*spec, spec->cases.at("time").at(0)));
}

}  // namespace
}  // namespace kf
