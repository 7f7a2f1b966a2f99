// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>
#include <kfactory/plan.h>

#include "fixtures.h"
#include "spec/entry_facts.h"

namespace kf {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

constexpr std::string_view kPtx = R"(.version 9.0
.target sm_90a
.address_size 64
.visible .entry scale_more()
{
	ret;
}
.visible .entry scale(
	.param .u64 .ptr .align 1 scale_param_0,
	.param .align 64 .b8 scale_param_1[128],
	.param .u32 scale_param_2,
	.param .f32 scale_param_3,
	.param .b16 scale_param_4
)
.maxntid 256, 1, 1
.minnctapersm 2
{
	ret;
}
.visible .entry fixed(
	.param .u64 fixed_param_0
)
.explicitcluster
.reqnctapercluster 2, 1, 1
.reqntid 128, 2
{
	ret;
}
)";

TEST(EntryFacts, ReadsParameterSizes) {
  const auto facts = entry_facts(kPtx, "scale");
  ASSERT_TRUE(facts);
  EXPECT_THAT(facts->parameter_bytes, ElementsAre(8, 128, 4, 4, 2));
  EXPECT_THAT(*facts->largest_block, ElementsAre(256, 1, 1));
  EXPECT_FALSE(facts->required_block);
}

TEST(EntryFacts, ReadsRequiredShapes) {
  const auto facts = entry_facts(kPtx, "fixed");
  ASSERT_TRUE(facts);
  EXPECT_THAT(*facts->required_block, ElementsAre(128, 2, 1));
  EXPECT_THAT(*facts->required_cluster, ElementsAre(2, 1, 1));
}

TEST(EntryFacts, KnowsEntriesByTheirWholeName) {
  EXPECT_THAT(entry_facts(kPtx, "scale_more")->parameter_bytes, IsEmpty());
  EXPECT_FALSE(entry_facts(kPtx, "scal"));
  EXPECT_FALSE(entry_facts(kPtx, "other"));
  EXPECT_FALSE(entry_facts("", "scale"));
}

TEST(EntryFacts, SurvivesTextThatStopsAnywhere) {
  for (std::size_t length = 0; length <= kPtx.size(); ++length) {
    const std::string text(kPtx.substr(0, length));
    (void)entry_facts(text, "scale");
    (void)entry_facts(text, "fixed");
  }
}

std::string errors(std::string_view kernel) {
  const Spec spec = test::good_spec();
  const auto plan = parse_plan(R"({"plan": 1, "kernels": [)" + std::string(kernel) + "]}", "");
  EXPECT_TRUE(plan) << (plan ? "" : to_string(plan.error()));
  Build build = test::build_with({"scale", "fixed"});
  build.ptx = kPtx;
  const auto resolved = resolve_plan(spec, *plan, spec.cases.at("time")[0], {}, test::h200(), build);
  EXPECT_FALSE(resolved) << "was accepted";
  return resolved ? "" : to_string(resolved.error());
}

TEST(ResolvedPlan, ComparesArgumentsWithTheEntrysParameters) {
  EXPECT_THAT(errors(R"({"name": "scale", "grid": [1], "block": [32], "args": ["y", "state"]})"),
              HasSubstr("$.kernels[0].args: found 2 arguments, \"scale\" has 5 parameters"));
  EXPECT_THAT(errors(R"({"name": "scale", "grid": [1], "block": [32], "args": ["y", "state", "M:i64", "eps", "x"]})"),
              HasSubstr("$.kernels[0].args[1]: \"state\" has 8 bytes, parameter 2 of \"scale\" has 128"));
}

TEST(ResolvedPlan, RefusesABlockSmallerThanDeclared) {
  EXPECT_THAT(
      errors(R"({"name": "fixed", "grid": [2], "block": [64, 2], "cluster": [2], "args": ["y"]})"),
      HasSubstr("$.kernels[0].block: the block is [64, 2, 1], but \"fixed\" declares that it needs [128, 2, 1]"));
}

TEST(ResolvedPlan, RefusesAClusterOtherThanCompiled) {
  EXPECT_THAT(errors(R"({"name": "fixed", "grid": [2], "block": [128, 2], "args": ["y"]})"),
              HasSubstr("$.kernels[0].cluster: the cluster is [1, 1, 1], but \"fixed\" is compiled for [2, 1, 1]"));
}

}  // namespace
}  // namespace kf
