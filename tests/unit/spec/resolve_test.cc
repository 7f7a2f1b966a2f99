// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>

#include <cstring>

#include "fixtures.h"

namespace kf {
namespace {

using test::build_with;
using test::good_plan;
using test::good_spec;
using test::h200;
using test::kPlanText;
using test::with;
using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

// M = 128, N = 4096, bfloat16; bias and norm absent.
const Case& timed(const Spec& spec) {
  return spec.cases.at("time").at(0);
}

OrErrors<ResolvedPlan> resolve(std::string_view plan_text, const Build& build, const DeviceFacts& facts = h200()) {
  static const Spec kSpec = good_spec();
  const LaunchPlan plan = good_plan(plan_text);
  return resolve_plan(kSpec, plan, timed(kSpec), tune_points(plan).front(), facts, build);
}

ResolvedPlan resolved(std::string_view plan_text, const Build& build = build_with({"scale"})) {
  OrErrors<ResolvedPlan> plan = resolve(plan_text, build);
  EXPECT_TRUE(plan) << (plan ? "" : to_string(plan.error()));
  return plan.value_or(ResolvedPlan{});
}

std::string errors(std::string_view plan_text, const Build& build = build_with({"scale"}),
                   const DeviceFacts& facts = h200()) {
  const OrErrors<ResolvedPlan> plan = resolve(plan_text, build, facts);
  EXPECT_FALSE(plan) << "was accepted";
  return plan ? "" : to_string(plan.error());
}
std::string errors_after(std::string_view from, std::string_view to) {
  return errors(with(kPlanText, from, to));
}

// A plan of one kernel with these keys; it gets both outputs.
std::string one(std::string_view keys) {
  return R"({"plan": 1, "kernels": [{"name": "scale", "args": ["x", "y", "state"], )" + std::string(keys) + "}]}";
}

TEST(ResolvedPlan, EvaluatesEverythingForTheCase) {
  const ResolvedPlan plan = resolved(kPlanText);
  ASSERT_EQ(plan.launches.size(), 1u);
  const Launch& launch = plan.launches[0];
  EXPECT_EQ(launch.id, "main");
  EXPECT_EQ(launch.entry, "scale");
  EXPECT_THAT(launch.grid, ElementsAre(128u, 1u, 1u));
  EXPECT_THAT(launch.block, ElementsAre(32u, 1u, 1u));
  ASSERT_EQ(plan.workspaces.size(), 2u);
  EXPECT_EQ(plan.workspaces[0].bytes, 132 * 4096 * 4);
  EXPECT_EQ(plan.workspaces[1].init, WorkspaceInit::kZeroRestored);
  EXPECT_EQ(plan.of.value, "time/M=128,N=4096,T=bfloat16,values=" + plan.of.value.substr(plan.of.value.size() - 6));
}

TEST(ResolvedPlan, BindsArgumentsInOrder) {
  const std::vector<Arg> args = resolved(kPlanText).launches[0].args;
  ASSERT_EQ(args.size(), 12u);
  EXPECT_EQ(args[0].kind, Arg::Kind::kTensor);
  EXPECT_EQ(args[0].index, 0);
  EXPECT_EQ(args[1].kind, Arg::Kind::kNull) << "bias is absent";
  EXPECT_EQ(args[3].kind, Arg::Kind::kTensor);
  EXPECT_EQ(args[4].kind, Arg::Kind::kNull) << "norm is absent";
  EXPECT_EQ(args[6].kind, Arg::Kind::kWorkspace);
  EXPECT_EQ(args[7].index, 1);
  EXPECT_EQ(args[8].bits, 128u);
  EXPECT_EQ(args[8].width, 4);
  EXPECT_EQ(args[9].bits, 4096u);
  EXPECT_EQ(args[9].width, 8);
  float eps = 0;
  std::memcpy(&eps, &args[10].bits, sizeof eps);
  EXPECT_EQ(eps, 0.5f);
  EXPECT_EQ(args[10].width, 4);
  EXPECT_EQ(args[11].bits, 3u) << "count is an int32 scalar";
}

TEST(ResolvedPlan, IntegersMustFitTheirType) {
  EXPECT_THAT(errors_after("\"M:i32\"", "\"M * 2^30:i32\""),
              HasSubstr("$.kernels[0].args[8]: \"M * 2^30:i32\" is 137438953472, which does not fit i32"));
  EXPECT_THAT(errors_after("\"M:i32\"", "\"0 - M:u32\""), HasSubstr("does not fit u32"));
  EXPECT_THAT(errors_after("\"M:i32\"", "\"2^24 + 1:f32\""), HasSubstr("does not fit f32 exactly"));
  EXPECT_THAT(errors_after("\"M:i32\"", "\"2^62 * 4:i64\""), HasSubstr("$.kernels[0].args[8], column 6: overflow"));
  EXPECT_EQ(resolved(with(kPlanText, "\"M:i32\"", "\"0 - 1:i32\"")).launches[0].args[8].bits, 0xffffffffu);
}

TEST(ResolvedPlan, ScalarsMayBeConverted) {
  const Arg arg = resolved(with(kPlanText, "\"eps\"", "\"eps:f64\"")).launches[0].args[10];
  double eps = 0;
  std::memcpy(&eps, &arg.bits, sizeof eps);
  EXPECT_EQ(eps, 0.5);
  EXPECT_EQ(arg.width, 8);
  EXPECT_THAT(errors_after("\"eps\"", "\"eps:i32\""),
              HasSubstr("the scalar \"eps\" is 0.500000, which does not fit i32"));
}

TEST(ResolvedPlan, NarrowScalarsAreRoundedToNearestEven) {
  const auto bits = [](std::string_view dtype, std::string_view value) {
    const auto spec =
        test::spec_of(with(test::kSpecText, "\"dtype\": \"float32\", \"default\": 0.5",
                           "\"dtype\": \"" + std::string(dtype) + "\", \"default\": " + std::string(value)));
    EXPECT_TRUE(spec);
    const LaunchPlan plan = good_plan();
    const auto resolved_plan =
        resolve_plan(*spec, plan, timed(*spec), tune_points(plan).front(), h200(), build_with({"scale"}));
    EXPECT_TRUE(resolved_plan) << to_string(resolved_plan.error());
    EXPECT_EQ(resolved_plan->launches[0].args[10].width, 2);
    return resolved_plan->launches[0].args[10].bits;
  };
  EXPECT_EQ(bits("float16", "1"), 0x3c00u);
  EXPECT_EQ(bits("float16", "-2.5"), 0xc100u);
  EXPECT_EQ(bits("float16", "65504"), 0x7bffu);
  EXPECT_EQ(bits("float16", "65520"), 0x7c00u) << "half-way to infinity rounds up";
  EXPECT_EQ(bits("float16", "5.960464477539063e-08"), 0x0001u) << "the smallest subnormal";
  EXPECT_EQ(bits("float16", "2.9e-08"), 0x0000u);
  EXPECT_EQ(bits("float16", "6.097555160522461e-05"), 0x03ffu) << "the largest subnormal";
  EXPECT_EQ(bits("bfloat16", "1"), 0x3f80u);
  EXPECT_EQ(bits("bfloat16", "1.00390625"), 0x3f80u) << "a tie goes to even";
  EXPECT_EQ(bits("bfloat16", "1.01171875"), 0x3f82u) << "a tie goes to even";
  EXPECT_EQ(bits("bfloat16", "3.4e38"), 0x7f80u);
}

TEST(ResolvedPlan, PointersTakeNoTypeAndIntegersNeedOne) {
  EXPECT_THAT(errors_after("[\"x\", \"bias\"", "[\"x:i64\", \"bias\""),
              HasSubstr("$.kernels[0].args[0]: \"x:i64\": a pointer takes no type"));
  EXPECT_THAT(errors_after("\"M:i32\"", "\"M\""),
              HasSubstr("$.kernels[0].args[8]: the integer \"M\" has no type (write \"M:i32\" or \"M:i64\")"));
}

TEST(ResolvedPlan, UnknownArgumentsListWhatThereIs) {
  EXPECT_THAT(
      errors_after("\"offsets\"", "\"ofsets\""),
      AllOf(HasSubstr(
                "$.kernels[0].args[2]: unknown argument \"ofsets\"; known: x, offsets, y, state, bias, norm, count, "
                "eps, partial, flags"),
            HasSubstr("did you mean \"offsets\"?")));
}

TEST(ResolvedPlan, EveryOutputThatIsThereMustBeBound) {
  EXPECT_THAT(errors(R"({"plan": 1, "kernels": [{"name": "scale", "grid": [1], "block": [32], "args": ["x", "y"]}]})"),
              HasSubstr("$.kernels: no kernel that is launched gets the output \"state\""));
}

TEST(ResolvedPlan, SomethingMustBeLaunched) {
  EXPECT_THAT(errors(one(R"("grid": [1], "block": [32], "when": "M < 0")")),
              HasSubstr("$.kernels: no kernel is launched in the case time/"));
}

TEST(ResolvedPlan, EmptyOutputsNeedNoLaunch) {
  const std::string text = with(test::kSpecText, "\"M\": 128", "\"M\": 0");
  const auto spec = test::spec_of(text);
  ASSERT_TRUE(spec) << to_string(spec.error());
  const LaunchPlan plan = good_plan(one(R"("grid": ["M"], "block": [32])"));
  const auto result = resolve_plan(*spec, plan, timed(*spec), {}, h200(), build_with({"scale"}));
  ASSERT_TRUE(result) << to_string(result.error());
  EXPECT_THAT(result->launches, IsEmpty());
}

TEST(ResolvedPlan, RefusesAZeroGridOtherwise) {
  EXPECT_THAT(errors(one(R"("grid": ["M / 1000"], "block": [32])")),
              HasSubstr("$.kernels[0].grid[0]: the grid is [0, 1, 1]: nothing would run"));
}

TEST(ResolvedPlan, ChecksTheGridAgainstTheDevice) {
  EXPECT_THAT(errors(one(R"("grid": [1, 65536], "block": [32])")),
              HasSubstr("$.kernels[0].grid[1]: the grid's y is 65536, the device allows 65535"));
  EXPECT_THAT(errors(one(R"("grid": ["2^31"], "block": [32])")),
              HasSubstr("$.kernels[0].grid[0]: \"2^31\" is 2147483648"));
  EXPECT_THAT(errors(one(R"("grid": ["0 - M"], "block": [32])")), HasSubstr("is -128, allowed: 0 to"));
}

TEST(ResolvedPlan, ChecksTheBlockAgainstDeviceAndKernel) {
  EXPECT_THAT(errors(one(R"("grid": [1], "block": [1025])")),
              HasSubstr("$.kernels[0].block[0]: the block's x is 1025, allowed: 1 to 1024"));
  EXPECT_THAT(errors(one(R"("grid": [1], "block": [64, 32])")),
              HasSubstr("a block of 2048 threads, the device allows 1024"));
  EXPECT_THAT(errors(one(R"("grid": [1], "block": [1, 1, 65])")), HasSubstr("the block's z is 65, allowed: 1 to 64"));
  EXPECT_THAT(errors(one(R"("grid": [1], "block": ["M / 200"])")), HasSubstr("the block's x is 0"));
  Build bounded = build_with({"scale"});
  bounded.kernels[0].max_threads = 128;
  EXPECT_THAT(errors(one(R"("grid": [1], "block": [256])"), bounded),
              HasSubstr("$.kernels[0].block: a block of 256 threads, but \"scale\" is compiled for at most 128"));
}

TEST(ResolvedPlan, ChecksRegisters) {
  Build heavy = build_with({"scale"});
  heavy.kernels[0].registers = 128;
  EXPECT_THAT(errors(one(R"("grid": [1], "block": [1024])"), heavy),
              HasSubstr("1024 threads with 128 registers each need 131072 registers, a block has 65536"));
}

TEST(ResolvedPlan, AllowsSharedMemoryUpToTheOptInLimit) {
  EXPECT_EQ(resolved(one(R"("grid": [1], "block": [32], "shared": "227 * 1024")")).launches[0].shared_bytes, 232448u);
  EXPECT_THAT(
      errors(one(R"("grid": [1], "block": [32], "shared": "227 * 1024 + 1")")),
      HasSubstr("$.kernels[0].shared: 232449 bytes of dynamic and 0 of static shared memory, a block may have 232448"));
  Build with_static = build_with({"scale"});
  with_static.kernels[0].static_shared_bytes = 1024;
  EXPECT_THAT(errors(one(R"("grid": [1], "block": [32], "shared": "227 * 1024")"), with_static),
              HasSubstr("1024 of static"));
  EXPECT_THAT(errors(one(R"("grid": [1], "block": [32], "shared": "0 - 1")")), HasSubstr("-1 bytes of dynamic"));
}

TEST(ResolvedPlan, TheEntryMustExist) {
  EXPECT_THAT(errors(kPlanText, build_with({"other", "more"})),
              HasSubstr("$.kernels[0].grid[0], column 24: resident(main): the build has no entry \"scale\""));
  EXPECT_THAT(errors(one(R"("grid": [1], "block": [32])"), build_with({"other", "more"})),
              HasSubstr("$.kernels[0].name: the build has no entry \"scale\"; it has: other, more"));
}

TEST(ResolvedPlan, ResidentIsOccupancyTimesMultiprocessors) {
  // 32 threads with 32 registers: 32 blocks an SM, the limit of blocks.
  EXPECT_EQ(resolved(one(R"j("grid": ["resident(scale)"], "block": [32])j")).launches[0].grid[0], 32u * 132u);
  EXPECT_EQ(
      resolved(one(R"j("grid": ["resident(scale)"], "block": [1024], "shared": "200 * 1024")j")).launches[0].grid[0],
      132u);
}

TEST(ResolvedPlan, ResidentCountsWholeClusters) {
  EXPECT_EQ(resolved(one(R"j("grid": ["resident(scale)"], "block": [1024], "shared": "200 * 1024", "cluster": [16])j"))
                .launches[0]
                .grid[0],
            128u);
  DeviceFacts facts = h200();
  facts.cluster_slots = {{8, 15}, {16, 7}};
  const auto plan =
      resolve(one(R"j("grid": ["resident(scale)"], "block": [1024], "shared": "200 * 1024", "cluster": [12])j"),
              build_with({"scale"}), facts);
  ASSERT_TRUE(plan) << to_string(plan.error());
  EXPECT_EQ(plan->launches[0].grid[0], 7u * 12u) << "counted as the next larger size that was asked for";
}

TEST(ResolvedPlan, ClustersAboveEightAreNonPortable) {
  EXPECT_FALSE(resolved(one(R"("grid": [16], "block": [32], "cluster": [8])")).launches[0].flags.non_portable_cluster);
  EXPECT_TRUE(resolved(one(R"("grid": [16], "block": [32], "cluster": [16])")).launches[0].flags.non_portable_cluster);
  EXPECT_THAT(errors(one(R"("grid": [32], "block": [32], "cluster": [32])")),
              HasSubstr("$.kernels[0].cluster: a cluster of 32 blocks, sm_90a allows 1 to 16"));
  EXPECT_THAT(errors(one(R"("grid": [32], "block": [32], "cluster": [0])")), HasSubstr("a cluster of 0 blocks"));
}

TEST(ResolvedPlan, TheGridIsAMultipleOfTheCluster) {
  EXPECT_THAT(errors(one(R"("grid": [6, 2], "block": [32], "cluster": [4])")),
              HasSubstr("$.kernels[0].grid[0]: the grid [6, 2, 1] is no multiple of the cluster [4, 1, 1]"));
}

TEST(ResolvedPlan, ClustersNeedHardwareThatHasThem) {
  EXPECT_THAT(
      errors(one(R"("grid": [4], "block": [32], "cluster": [2])"), build_with({"scale"}), *named_target("A100")),
      HasSubstr("a cluster of 2 blocks, sm_80 allows 1 to 1"));
}

TEST(ResolvedPlan, CooperativeGridsMustBeResident) {
  EXPECT_TRUE(
      resolved(one(R"("grid": [4224], "block": [32], "launch": {"cooperative": true})")).launches[0].flags.cooperative);
  EXPECT_THAT(
      errors(one(R"("grid": [4225], "block": [32], "launch": {"cooperative": true})")),
      HasSubstr("$.kernels[0].grid: a cooperative launch of 4225 blocks, but only 4224 can be on the device at once"));
}

TEST(ResolvedPlan, CarriesFlags) {
  const LaunchFlags flags =
      resolved(
          one(R"("grid": [1], "block": [32], "launch": {"pdl": true, "cluster_policy": "load_balancing", "carveout": 25})"))
          .launches[0]
          .flags;
  EXPECT_TRUE(flags.pdl);
  EXPECT_EQ(flags.cluster_policy, "load_balancing");
  EXPECT_EQ(flags.carveout, 25);
}

TEST(ResolvedPlan, BoundsWorkspacesByTheSpec) {
  const std::string text = with(kPlanText, "sm_count * N * 4", "2^22");
  EXPECT_THAT(errors(text), HasSubstr("$.workspaces.flags.bytes: the workspaces need more than the 4194304 bytes"));
}

}  // namespace
}  // namespace kf
