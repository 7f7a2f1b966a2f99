// SPDX-License-Identifier: Apache-2.0
#include "factory/score.h"

#include <gtest/gtest.h>

#include "factory/jobs.h"
#include "fakes.h"

namespace kf {
namespace {

struct Times {
  std::string arm;
  double nanoseconds;
};

Measurement measured(const Spec& spec, const std::vector<Times>& arms, double noise = 1e-4) {
  Measurement measurement;
  for (const Case& of : spec.cases.at("time")) {
    CaseTiming timing;
    timing.case_id = of.id.value;
    for (const Times& arm : arms) {
      const auto index = static_cast<std::int32_t>(timing.arms.size());
      timing.arms.push_back(arm.arm);
      for (std::int32_t quad = 0; quad < 16; ++quad) {
        for (std::int32_t slot = 0; slot < 2; ++slot) {
          timing.samples.push_back(
              {index, quad, slot, arm.nanoseconds * (1 + noise * ((quad * 5 + slot + index) % 7)), 0});
        }
      }
    }
    measurement.cases.push_back(std::move(timing));
  }
  return measurement;
}

DeviceFacts slow_memory() {
  DeviceFacts facts = gpu_facts();
  facts.dram_bytes_per_second = 1e15;  // a floor that nothing here reaches
  return facts;
}

TEST(Score, IsAFunctionOfTheSamplesAlone) {
  const Spec spec = small_spec();
  const Measurement measurement = measured(spec, {{"candidate", 500}, {"baseline:naive", 1000}});
  const Score first = score_of(spec, slow_memory(), measurement, 0.005);
  const Score second = score_of(spec, slow_memory(), measurement, 0.005);
  EXPECT_EQ(first.speedup, second.speedup);
  EXPECT_NEAR(first.speedup, 2.0, 0.01);
}

TEST(Score, ComparesWithTheFastestBaselineAndItsControlIsNone) {
  const Spec spec = small_spec();
  const Score score = score_of(
      spec, slow_memory(),
      measured(
          spec,
          {{"candidate", 500}, {"baseline:naive", 1000}, {"baseline:better", 600}, {"baseline:better_again", 600}}),
      0.005);
  EXPECT_EQ(score.cases[0].baseline_name, "better");
  EXPECT_NEAR(score.speedup, 1.2, 0.01);
}

TEST(Score, RefusesToCallFasterThanPhysicsAWin) {
  const Spec spec = small_spec();
  DeviceFacts facts = gpu_facts();
  facts.dram_bytes_per_second = 1e12;  // 4 MiB take 4 us
  const Score score = score_of(spec, facts, measured(spec, {{"candidate", 500}, {"baseline:naive", 1000}}), 0.005);
  EXPECT_EQ(score.against_baseline, Comparison::kRefused);
  ASSERT_FALSE(score.cases[0].notes.empty());
  EXPECT_NE(score.cases[0].notes.back().find("SUSPECT"), std::string::npos);
}

TEST(Score, TakesWritesThatTheCacheKeepsOutOfTheFloor) {
  const Spec spec = small_spec();
  DeviceFacts facts = gpu_facts();
  facts.dram_bytes_per_second = 1e12;
  facts.l2_bytes = 60 << 20;
  const Case& small = spec.cases.at("time")[0];  // 4 MiB in, 4 MiB out
  EXPECT_NEAR(physics_floor(spec, small, facts), 4194.304, 1e-6);
  facts.l2_bytes = 0;
  EXPECT_NEAR(physics_floor(spec, small, facts), 8388.608, 1e-6);
}

TEST(Score, FloorsWhatCannotBeComputedInTime) {
  const Spec spec = small_spec();
  DeviceFacts facts = gpu_facts();
  facts.fp32_flops_per_second = 66.9e5;  // a ten-millionth of an H200: N operations of 98.94 million a second
  const Case& of = spec.cases.at("time")[0];
  EXPECT_NEAR(physics_floor(spec, of, facts), 1e9 * 1048576 / 98.94e6, 1e3);
}

TEST(Score, KeepsKernelRecordsBesideTheFiguresThatDecide) {
  const Spec spec = small_spec();
  Measurement measurement = measured(spec, {{"candidate", 500}, {"baseline:naive", 1000}});
  Measurement records = measured(spec, {{"candidate", 300}, {"baseline:naive", 200}, {"copy", 100}});
  for (CaseTiming& timing : records.cases) {
    timing.method = ClockMethod::kCupti;
    measurement.cases.push_back(std::move(timing));
  }
  const Score score = score_of(spec, slow_memory(), measurement, 0.005);
  ASSERT_EQ(score.cases.size(), 3U);
  EXPECT_NEAR(score.speedup, 2.0, 0.01);
  EXPECT_NEAR(score.cases[0].candidate_records.median, 300, 1);
  EXPECT_NEAR(score.cases[0].baseline_records.median, 200, 1);
  EXPECT_NEAR(score.cases[0].copy_records.median, 100, 1);
}

TEST(Score, EstimatesTheCopyRowWhereNothingCanBeTimed) {
  const Spec spec = small_spec();
  DeviceFacts facts = gpu_facts();
  facts.dram_bytes_per_second = 1e12;
  Measurement measurement = measured(spec, {{"candidate", 500}, {"baseline:naive", 1000}});
  measurement.cases.resize(1);
  measurement.cases[0].method = ClockMethod::kEstimate;
  const CaseScore of = score_of(spec, facts, measurement, 0.005).cases.at(0);
  EXPECT_NEAR(of.copy.median, 8.0 * 1048576 / 1e3, 1);
  ASSERT_FALSE(of.notes.empty());
  EXPECT_NE(of.notes.back().find("estimate"), std::string::npos);
}

TEST(Score, AVetoTurnsAWinWithOneSlowCaseIntoALoss) {
  Spec spec = small_spec();
  spec.objective.veto = 0.05;
  Measurement measurement = measured(spec, {{"candidate", 300}, {"baseline:naive", 1000}});
  for (Sample& sample : measurement.cases[2].samples) {
    sample.nanoseconds *= sample.arm == 0 ? 4 : 1;  // 1200 against 1000
  }
  const Score score = score_of(spec, slow_memory(), measurement, 0.005);
  EXPECT_GT(score.speedup, 1.0);
  EXPECT_EQ(score.against_baseline, Comparison::kLoss);
}

TEST(Score, OneRefusedCaseRefusesTheWhole) {
  const Interval good{0.5, 0.49, 0.51, 20};
  EXPECT_EQ(combine(std::vector{good, good}, std::vector{Comparison::kWin, Comparison::kRefused}, 0.005),
            Comparison::kRefused);
  EXPECT_EQ(combine(std::vector{good, good}, std::vector{Comparison::kWin, Comparison::kWin}, 0.005), Comparison::kWin);
}

TEST(Score, ADoubtfulRestKeepsAWinInconclusive) {
  const Interval clear{0.97, 0.969, 0.971, 20}, wide{1.0, 0.9, 1.12, 20};
  EXPECT_EQ(combine(std::vector{clear, wide}, std::vector{Comparison::kWin, Comparison::kInconclusive}, 0.005),
            Comparison::kInconclusive);
}

TEST(Score, NoCasesAreInconclusive) {
  EXPECT_EQ(combine({}, {}, 0.005), Comparison::kInconclusive);
}

Attempt attempt(std::int64_t id, double ratio, AttemptState state = AttemptState::kMeasured) {
  Attempt of;
  of.id = {id};
  of.state = state;
  of.score.emplace();
  of.score->speedup = 1 / ratio;
  of.score->cases.resize(1);
  of.score->cases[0].case_id = "time/0";
  of.score->cases[0].to_baseline = {ratio, ratio, ratio, 9};
  return of;
}

TEST(BestAttempt, IsTheFastestRightOne) {
  const std::vector attempts{attempt(1, 0.9), attempt(2, 0.5), attempt(3, 0.1, AttemptState::kRejected)};
  EXPECT_EQ(best_attempt(attempts), AttemptId{2});
}

TEST(BestAttempt, PrefersTheEarlierOfEquals) {
  EXPECT_EQ(best_attempt(std::vector{attempt(1, 0.5), attempt(2, 0.5)}), AttemptId{1});
}

TEST(BestAttempt, DoesNotCountRefusedFigures) {
  std::vector attempts{attempt(1, 0.9), attempt(2, 0.01)};
  attempts[1].score->against_baseline = Comparison::kRefused;
  EXPECT_EQ(best_attempt(attempts), AttemptId{1});
}

TEST(BestAttempt, ComparesOverTheCasesThatAllHave) {
  std::vector attempts{attempt(1, 0.5), attempt(2, 0.6)};
  attempts[0].score->cases.push_back(
      {.case_id = "time/1", .to_baseline = {2.0, 2.0, 2.0, 9}});  // confirmed on more cases
  EXPECT_EQ(best_attempt(attempts), AttemptId{1});
}

// Its own timing dropped the baseline: its 500 ns are neither the best ratio nor the worst.
TEST(BestAttempt, ComparesFiguresOfOneKindWithinACase) {
  std::vector attempts{attempt(1, 0.7), attempt(2, 0.6), attempt(3, 0.8)};
  for (Attempt& of : attempts) {
    const double time = of.id == AttemptId{1} ? 700 : of.id == AttemptId{2} ? 600 : 800;
    of.score->cases[0].candidate = {time, time, time, 9};
  }
  attempts[1].score->cases[0].to_baseline = {};
  const std::vector<Ranked> ranked = ranking(attempts);
  ASSERT_EQ(ranked.size(), 3U);
  EXPECT_EQ(ranked[0].id, AttemptId{2});
  EXPECT_EQ(ranked[1].id, AttemptId{1});
  EXPECT_NEAR(ranked[1].value, 700, 1e-6);
}

TEST(BestAttempt, LeavesOutACaseOfWhichNotAllHaveAFigureOfOneKind) {
  std::vector attempts{attempt(1, 0.7), attempt(2, 0.6)};
  for (Attempt& of : attempts) {
    of.score->cases.push_back({.case_id = "time/1", .to_baseline = {0.5, 0.5, 0.5, 9}});
  }
  attempts[1].score->cases[1].to_baseline = {};
  EXPECT_EQ(best_attempt(attempts), AttemptId{2});  // by time/0 alone
}

TEST(FinalChampion, IsTheBestOfThoseThatWereConfirmed) {
  std::vector attempts{attempt(1, 0.4), attempt(2, 0.5), attempt(3, 0.6)};
  EXPECT_EQ(final_champion(attempts), AttemptId{1});
  attempts[1].score->confirmed = attempts[2].score->confirmed = true;
  EXPECT_EQ(final_champion(attempts), AttemptId{2});
  attempts[1].score->against_baseline = Comparison::kRefused;
  EXPECT_EQ(final_champion(attempts), AttemptId{3});
}

TEST(BestAttempt, IsNoneWithoutMeasuredAttempts) {
  EXPECT_FALSE(best_attempt({}));
}

TEST(SliceExtent, KeepsFloat64OutputsWithinTheirBudget) {
  Case one;
  one.tensors.resize(2);
  one.tensors[0].role = TensorRole::kInput;
  one.tensors[0].extent = {1, 1 << 20};
  one.tensors[1].role = TensorRole::kOutput;
  one.tensors[1].extent = {1, 65536};
  EXPECT_EQ(slice_extent(one, 32768), kReferenceSliceBytes / (65536 * 8));
  EXPECT_EQ(slice_extent(one, 10), 10);
}

TEST(SliceExtent, IsAtLeastOne) {
  Case one;
  one.tensors.resize(1);
  one.tensors[0].role = TensorRole::kOutput;
  one.tensors[0].extent = {1LL << 40};
  EXPECT_EQ(slice_extent(one, 5), 1);
}

}  // namespace
}  // namespace kf
