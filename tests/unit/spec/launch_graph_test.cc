// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>

#include "fixtures.h"

namespace kf {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

std::string kernel(std::string_view id, std::string_view more = "") {
  return R"({"name": "k", "id": ")" + std::string(id) + R"(", "grid": [1], "block": [32], "args": ["y", "state"])" +
         std::string(more) + "}";
}

OrErrors<ResolvedPlan> resolve(const std::string& kernels) {
  static const Spec kSpec = test::good_spec();
  const auto plan = parse_plan(R"({"plan": 1, "kernels": [)" + kernels + "]}", "");
  if (!plan) {
    return std::unexpected(plan.error());
  }
  return resolve_plan(kSpec, *plan, kSpec.cases.at("time")[0], {}, test::h200(), test::build_with({"k"}));
}

// "a<-; b<-0; c<-0,1": each launch with what it waits for.
std::string graph(const std::string& kernels) {
  const auto plan = resolve(kernels);
  if (!plan) {
    return to_string(plan.error());
  }
  std::string text;
  for (const Launch& launch : plan->launches) {
    text += (text.empty() ? "" : "; ") + launch.id + "<-";
    for (std::size_t i = 0; i < launch.after.size(); ++i) {
      text += (i == 0 ? "" : ",") + std::to_string(launch.after[i]);
    }
  }
  return text;
}

TEST(LaunchGraph, WithoutAfterEachLaunchWaitsForTheOneBefore) {
  EXPECT_EQ(graph(kernel("a") + "," + kernel("b") + "," + kernel("c")), "a<-; b<-0; c<-1");
}

TEST(LaunchGraph, AfterMakesBranches) {
  EXPECT_EQ(graph(kernel("a") + "," + kernel("b", R"(, "after": [])") + "," + kernel("c", R"(, "after": ["a", "b"])")),
            "a<-; b<-; c<-0,1");
}

TEST(LaunchGraph, RepeatedKernelsFormAChainByDefault) {
  EXPECT_EQ(graph(kernel("k", R"(, "repeat": {"s": 3})")), "k[0]<-; k[1]<-0; k[2]<-1");
}

TEST(LaunchGraph, IndicesOutsideVanishAtTheEdges) {
  EXPECT_EQ(graph(kernel("k", R"(, "repeat": {"s": 4}, "after": ["k[s-2]"])")), "k[0]<-; k[1]<-; k[2]<-0; k[3]<-1");
}

TEST(LaunchGraph, PipelinesInterleaveTwoRepeatedKernels) {
  EXPECT_EQ(graph(kernel("load", R"(, "repeat": {"s": 2}, "after": ["load[s-1]"])") + "," +
                  kernel("work", R"(, "repeat": {"s": 3}, "after": ["load[s]", "work[s-1]"])")),
            "load[0]<-; load[1]<-0; work[0]<-0; work[1]<-1,2; work[2]<-3");
}

TEST(LaunchGraph, AnIdWithoutIndexMeansEveryInstance) {
  EXPECT_EQ(graph(kernel("k", R"(, "repeat": {"s": 3}, "after": [])") + "," + kernel("sum", R"(, "after": ["k"])")),
            "k[0]<-; k[1]<-; k[2]<-; sum<-0,1,2");
}

TEST(LaunchGraph, WaitsAreListedOnceAndInOrder) {
  EXPECT_EQ(
      graph(kernel("a") + "," + kernel("b", R"(, "after": [])") + "," + kernel("c", R"(, "after": ["b", "a", "b"])")),
      "a<-; b<-; c<-0,1");
}

TEST(LaunchGraph, ASkippedKernelPassesOnWhatItWaitedFor) {
  EXPECT_EQ(graph(kernel("a") + "," + kernel("b", R"(, "when": "M < 0")") + "," + kernel("c", R"(, "after": ["b"])")),
            "a<-; c<-0");
  EXPECT_EQ(graph(kernel("a") + "," + kernel("b", R"(, "when": 0)") + "," + kernel("c")), "a<-; c<-0");
}

TEST(LaunchGraph, TheConditionMayUseTheRepeatVariable) {
  EXPECT_EQ(graph(kernel("k", R"(, "repeat": {"s": 4}, "when": "s % 2 == 0")")), "k[0]<-; k[2]<-0");
}

TEST(LaunchGraph, GridsAndArgumentsMayUseTheRepeatVariable) {
  const auto plan = resolve(R"({"name": "k", "grid": ["s + 1"], "block": [32], "args": ["y", "state", "s * 10:i32"],
                               "repeat": {"s": 3}})");
  ASSERT_TRUE(plan) << to_string(plan.error());
  ASSERT_EQ(plan->launches.size(), 3u);
  EXPECT_EQ(plan->launches[2].grid[0], 3u);
  EXPECT_EQ(plan->launches[2].args[2].bits, 20u);
}

TEST(LaunchGraph, ALaterInstanceOfItselfIsRefused) {
  EXPECT_THAT(graph(kernel("k", R"(, "repeat": {"s": 3}, "after": ["k[s+1]"])")),
              HasSubstr("$.kernels[0].after[0]: \"k[s+1]\" is k[1], which is not launched before this one"));
}

TEST(LaunchGraph, RepeatCountsAreBounded) {
  EXPECT_THAT(graph(kernel("k", R"(, "repeat": {"s": 5000})")),
              HasSubstr("$.kernels[0].repeat: \"5000\" is 5000, allowed: 0 to 4096"));
  EXPECT_THAT(graph(kernel("k", R"(, "repeat": {"s": "0 - 1"})")), HasSubstr("is -1, allowed: 0 to 4096"));
}

TEST(LaunchGraph, TheRepeatVariableIsANameOfItsOwn) {
  EXPECT_THAT(graph(kernel("k", R"(, "repeat": {"M": 2})")), HasSubstr("the name \"M\" is an axis"));
}

TEST(LaunchGraph, AnErrorOfARepeatedKernelIsSaidOnce) {
  const auto plan =
      resolve(R"({"name": "k", "grid": [1], "block": [2000], "args": ["y", "state"], "repeat": {"s": 100}})");
  ASSERT_FALSE(plan);
  EXPECT_EQ(plan.error().size(), 2u) << to_string(plan.error());
}

}  // namespace
}  // namespace kf
