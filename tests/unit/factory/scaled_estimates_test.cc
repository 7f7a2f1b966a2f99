// SPDX-License-Identifier: Apache-2.0
#include "factory/scaled_estimates.h"

#include <gmock/gmock.h>

#include <kfactory/estimate.h>

#include "factory/score.h"
#include "fakes.h"

namespace kf {
namespace {

using testing::HasSubstr;

DeviceFacts emulated() {
  DeviceFacts facts = *named_target("H200");
  facts.kind = "emulator";
  return facts;
}

LaunchCounts counted(std::string id, std::int64_t instructions) {
  LaunchCounts counts;
  counts.id = std::move(id);
  counts.blocks = 4;
  counts.dram_bytes = 8192;  // of the case with 1024 elements, read and written
  counts.load_sectors = 128;
  counts.warp_instructions = instructions;
  return counts;
}

Measurement ran(const Spec& spec) {
  CaseTiming timing;
  timing.case_id = spec.cases.at("emulate")[0].id.value;
  timing.method = ClockMethod::kEstimate;
  timing.arms = {"candidate", "baseline:naive"};
  timing.counts = {{counted("main", 1000)}, {counted("main", 9'000'000)}};
  timing.samples = {{0, 0, 0, 2300, 0}, {1, 0, 1, 2400, 0}};
  Measurement measurement;
  measurement.cases = {timing};
  return measurement;
}

Arm planned(const std::string& name, const std::vector<Case>& timed, const std::string& id = "main") {
  Arm arm;
  arm.name = name;
  for (const Case& of : timed) {
    ResolvedPlan plan;
    plan.of = of.id;
    Launch launch;
    launch.id = id;
    launch.grid = {static_cast<std::uint32_t>(of.axes.at("N") / 256), 1, 1};
    plan.launches = {launch};
    arm.plans.push_back(plan);
  }
  return arm;
}

TEST(ScaledEstimates, GrowWithTheWorkAndTheTimedGrid) {
  const Spec spec = small_spec();
  const std::vector<Case>& timed = spec.cases.at("time");
  std::vector<std::string> notes;
  const std::vector<Arm> arms{planned("candidate", timed), planned("baseline:naive", timed)};
  const std::vector<CaseTiming> made = scaled_estimates(spec, emulated(), ran(spec), timed, arms, notes);
  ASSERT_EQ(made.size(), 3u);
  EXPECT_THAT(notes, testing::IsEmpty());
  EXPECT_EQ(made[0].scaled_from, spec.cases.at("emulate")[0].id.value);
  EXPECT_THAT(made[0].notes.at(0), HasSubstr("estimate, scaled from emulate/"));
  const LaunchCounts& counts = made[0].counts.at(0).at(0);
  EXPECT_EQ(counts.dram_bytes, 8192 * 1024);
  EXPECT_EQ(counts.warp_instructions, 1000 * 1024);
  EXPECT_EQ(counts.blocks, 4096);
  EXPECT_DOUBLE_EQ(made[0].samples.at(0).nanoseconds, estimate(counts, emulated()).total);
  EXPECT_NEAR(estimate(counts, emulated()).dram, 8192.0 * 1024 / 4800, 1e-6);
}

TEST(ScaledEstimates, AreWhatTheScoreIsAbout) {
  const Spec spec = small_spec();
  const std::vector<Case>& timed = spec.cases.at("time");
  std::vector<std::string> notes;
  Measurement measurement = ran(spec);
  const std::vector<Arm> arms{planned("candidate", timed), planned("baseline:naive", timed)};
  const Score small = score_of(spec, emulated(), measurement, 0.005);
  std::ranges::move(scaled_estimates(spec, emulated(), measurement, timed, arms, notes),
                    std::back_inserter(measurement.cases));
  const Score score = score_of(spec, emulated(), measurement, 0.005);
  EXPECT_NEAR(small.speedup, 2400.0 / 2300, 1e-9);
  EXPECT_GT(score.speedup, 10);  // 9000 times the instructions, which bound it
  ASSERT_EQ(score.cases.size(), 4u);
  EXPECT_EQ(score.cases[0].scaled_from, "");
  EXPECT_EQ(score.cases[1].scaled_from, score.cases[0].case_id);
  ASSERT_TRUE(score.cases[1].estimate);
  EXPECT_EQ(score.cases[1].counts.at(0).blocks, 4096);
}

TEST(ScaledEstimates, APlanOfOtherLaunchesIsNotScaled) {
  const Spec spec = small_spec();
  const std::vector<Case>& timed = spec.cases.at("time");
  std::vector<std::string> notes;
  const std::vector<Arm> arms{planned("candidate", timed, "split"), planned("baseline:naive", timed)};
  EXPECT_THAT(scaled_estimates(spec, emulated(), ran(spec), timed, arms, notes), testing::IsEmpty());
  ASSERT_EQ(notes.size(), 1u);
  EXPECT_THAT(notes[0], HasSubstr("for 3 of 3 timed cases: there its plan launches other kernels"));
}

TEST(ScaledEstimates, AreNotMadeFromCasesOfOtherTypes) {
  Spec spec = small_spec();
  std::vector<Case>& timed = spec.cases.at("time");
  timed[1].types["T"] = Dtype::kBfloat16;
  std::vector<std::string> notes;
  const std::vector<Arm> arms{planned("candidate", timed), planned("baseline:naive", timed)};
  const std::vector<CaseTiming> made = scaled_estimates(spec, emulated(), ran(spec), timed, arms, notes);
  EXPECT_EQ(made.size(), 2u);
  ASSERT_EQ(notes.size(), 1u);
  EXPECT_THAT(notes[0], HasSubstr("no estimate for " + timed[1].id.value + ": no case of its types"));
}

TEST(ScaledEstimates, AreOfAsManyTimedCasesAsAskedFor) {
  const Spec spec = small_spec();
  EvaluationSettings settings;
  settings.time_cases = {spec.cases.at("emulate")[0].id.value};
  EXPECT_EQ(cases_to_scale_to(spec, settings).size(), 3u);  // however few of them run here
  settings.scaled_cases = 1;
  const std::vector<Case> one = cases_to_scale_to(spec, settings);
  ASSERT_EQ(one.size(), 1u);
  EXPECT_EQ(one[0].set, "time");
}

}  // namespace
}  // namespace kf
