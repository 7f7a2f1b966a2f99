// SPDX-License-Identifier: Apache-2.0
// Floors, what counters say of them, sabotage, and compute-sanitizer's word.
#include "factory/physics.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <kfactory/peak_flops.h>
#include <algorithm>

#include "factory/evaluation.h"
#include "factory/sabotage.h"
#include "factory/sanitizer_evidence.h"
#include "fakes.h"

namespace kf {
namespace {

using testing::Contains;
using testing::HasSubstr;
using Kind = FloorFinding::Kind;

constexpr std::int64_t kBytes = 400 << 20;

FloorFinding judged(double memory, double l2, CacheState state = CacheState::kCold, Floor floor = {100, 1}) {
  DeviceFacts facts = gpu_facts();
  facts.l2_bytes = 60 << 20;
  Work work;
  work.read_bytes = kBytes;
  return judge_floor(work, floor, facts, state,
                     {{"dram__bytes_read.sum", memory * kBytes}, {"lts__t_sectors_op_read.sum", l2 * kBytes / 32}});
}

TEST(JudgeFloor, BlamesTheFloorWhenEverythingWasRead) {
  EXPECT_EQ(judged(1.0, 1.0).kind, Kind::kFloorTooHigh);
  EXPECT_EQ(judged(0.95, 1.5).kind, Kind::kFloorTooHigh);
}

TEST(JudgeFloor, RefutesALaunchThatDidNotReadItsInputs) {
  EXPECT_EQ(judged(0.5, 0.5).kind, Kind::kReadTooLittle);
  EXPECT_THAT(judged(0.5, 0.5).text, HasSubstr("inputs are 419.430 MB"));
  EXPECT_EQ(judged(0.7, 1.05).kind, Kind::kReadTooLittle);  // 30 % do not fit the L2
}

TEST(JudgeFloor, TellsAColdLaunchThatFoundItsInputsInTheL2) {
  EXPECT_EQ(judged(0.88, 1.0).kind, Kind::kFoundInL2);
  EXPECT_EQ(judged(0.88, 1.0, CacheState::kSteady).kind, Kind::kFloorTooHigh);
}

TEST(JudgeFloor, SaysNothingOfFlopsAndOfCountersThatAreNotThere) {
  EXPECT_EQ(judged(0.5, 0.5, CacheState::kCold, {1, 100}).kind, Kind::kNothing);
  Work work;
  work.read_bytes = kBytes;
  EXPECT_EQ(judge_floor(work, {100, 1}, gpu_facts(), CacheState::kCold, {}).kind, Kind::kNothing);
}

TEST(JudgeFloor, TakesTheMemorysCounterAloneWhereTheL2sAreNotThere) {
  Work work;
  work.read_bytes = kBytes;
  DeviceFacts facts = gpu_facts();
  facts.l2_bytes = 60 << 20;
  const auto kind = [&](double memory, CacheState state) {
    return judge_floor(work, {100, 1}, facts, state, {{"dram__bytes_read.sum", memory * kBytes}}).kind;
  };
  EXPECT_EQ(kind(0.5, CacheState::kCold), Kind::kReadTooLittle);
  EXPECT_EQ(kind(1.0, CacheState::kCold), Kind::kFloorTooHigh);
  EXPECT_EQ(kind(1.0, CacheState::kSteady), Kind::kNothing);  // what came from the L2 is not known
}

TEST(JudgeFloor, KnowsTheNamesOfNewerChips) {
  Work work;
  work.read_bytes = kBytes;
  const FloorFinding finding =
      judge_floor(work, {100, 1}, gpu_facts(), CacheState::kCold,
                  {{"dram__bytes_op_read.sum", 1.0 * kBytes}, {"lts__t_sectors_op_read.sum", 1.0 * kBytes / 32}});
  EXPECT_EQ(finding.kind, Kind::kFloorTooHigh);
}

// ---- what the flops of a case take at least

double computing(const std::string& arch, double fp32, const std::vector<Tensor>& more = {}) {
  const Spec spec = small_spec();
  Case of = spec.cases.at("time")[0];
  of.tensors.insert(of.tensors.end(), more.begin(), more.end());
  DeviceFacts facts = gpu_facts();
  facts.arch = arch;
  facts.fp32_flops_per_second = fp32;
  return physics_floor_parts(spec, of, facts).computing;
}
Tensor named(const std::string& name, Dtype dtype, TensorRole role = TensorRole::kInput) {
  Tensor tensor;
  tensor.name = name;
  tensor.dtype = dtype;
  tensor.role = role;
  return tensor;
}

TEST(FlopsFloor, GoesByTheChipsOwnTensorCores) {
  const double n = 1e9 * 1048576;
  EXPECT_NEAR(computing("sm_90a", 66.9e12), n / 9.894e14, 1e-6);
  EXPECT_NEAR(computing("sm_90a", 33.45e12), n / 4.947e14, 1e-6);  // half of the chip
  EXPECT_NEAR(computing("sm_80", 19.5e12), n / 3.12e14, 1e-6);     // 16 times its float32, not 14.8
  EXPECT_NEAR(computing("sm_100a", 75e12), n / 2.25e15, 1e-6);
  EXPECT_NEAR(computing("sm_120a", 104.8e12), n / 4.19e14, 1e-6);
}

TEST(FlopsFloor, IsNotThereWhereTheChipIsUnknown) {
  EXPECT_EQ(computing("sm_75", 8e12), 0);
  EXPECT_EQ(computing("sm_87", 5e12), 0);  // the table has another chip that stands in
}

TEST(FlopsFloor, TakesNarrowInputsForOperandsButNoMaskNoOutputAndNoIndex) {
  const double wide = computing("sm_90a", 66.9e12);
  EXPECT_EQ(computing("sm_90a", 66.9e12, {named("mask", Dtype::kBool)}), wide);
  EXPECT_EQ(computing("sm_90a", 66.9e12, {named("index", Dtype::kInt64)}), wide);
  EXPECT_EQ(computing("sm_90a", 66.9e12, {named("q", Dtype::kInt8, TensorRole::kOutput)}), wide);
  EXPECT_NEAR(computing("sm_90a", 66.9e12, {named("q", Dtype::kInt8)}), wide * 9.894e14 / 1.979e15, 1e-6);
  EXPECT_LT(computing("sm_100a", 75e12, {named("q", Dtype::kFloat8E4m3fn)}), 1e9 * 1048576 / 8.9e15);
}

TEST(FlopsFloor, IsKnownForEveryArchitectureThatTheTableNames) {
  for (const std::string& name : target_names()) {
    const DeviceFacts facts = named_target(name).value();
    const std::optional<PeakFlops> peak = peak_flops(facts);
    if (facts.arch == "sm_87") {
      EXPECT_FALSE(peak);
      continue;
    }
    ASSERT_TRUE(peak) << name;
    EXPECT_GE(peak->of_16_bits, facts.tensor_flops_per_second) << name;
    EXPECT_GE(peak->of_the_narrowest, 2 * peak->of_16_bits * 0.99) << name;
  }
}

class Physics : public testing::Test {
 protected:
  // 4 MiB at 1 TB/s take 4 us, the fakes' launches 0.5 us.
  Evaluation evaluate_one(const std::string& body) {
    Factory factory = factory_of(spec_, compiler_, rig_, clock_);
    factory.facts.dram_bytes_per_second = bandwidth_;
    factory.facts.l2_bytes = 1 << 20;
    JobBuilder jobs(factory, 2);
    return evaluate_with(factory, jobs, parse_candidate(candidate_source(body), "test").value(), settings_, {});
  }
  const CaseScore& first(const Evaluation& evaluation) { return evaluation.score->cases.front(); }
  std::int64_t profiles() const {
    const auto jobs = rig_.jobs();
    return std::ranges::count(jobs, Job::Kind::kProfile, &Job::kind);
  }
  double bandwidth_ = 1e12;
  Spec spec_ = small_spec();
  FakeCompiler compiler_;
  FakeRig rig_{gpu_facts()};
  HandClock clock_;
  EvaluationSettings settings_;
};

TEST_F(Physics, RefusesAKernelWhoseCountersSayThatItReadHalf) {
  const Evaluation evaluation = evaluate_one("NS=500 READS_HALF");
  EXPECT_EQ(evaluation.state, AttemptState::kRejected);
  EXPECT_EQ(evaluation.verdict.gate, Gate::kPhysics);
  EXPECT_EQ(evaluation.verdict.reason, "read_too_little");
  EXPECT_FALSE(evaluation.score);
}

TEST_F(Physics, CountsATimeUnderTheFloorOnceCountersBlameTheFloor) {
  const Evaluation evaluation = evaluate_one("NS=500");
  ASSERT_TRUE(evaluation.score) << evaluation.verdict.message;
  EXPECT_EQ(evaluation.verdict.gate, Gate::kPhysics);
  EXPECT_FALSE(first(evaluation).suspect);
  EXPECT_EQ(evaluation.score->against_baseline, Comparison::kWin);
  EXPECT_THAT(first(evaluation).notes, Contains(HasSubstr("the floor is too high")));
}

TEST_F(Physics, WithoutCountersASuspectStaysOneAndIsNeverAWin) {
  const Evaluation evaluation = evaluate_one("NS=500 NO_COUNTERS");
  ASSERT_TRUE(evaluation.score);
  EXPECT_TRUE(first(evaluation).suspect);
  EXPECT_EQ(evaluation.score->against_baseline, Comparison::kRefused);
  EXPECT_THAT(evaluation.notes, Contains(HasSubstr("CUPTI_ERROR_INSUFFICIENT_PRIVILEGES")));
  EXPECT_THAT(evaluation.score->counters_refused, HasSubstr("not permitted here"));
}

TEST_F(Physics, ALaunchServedByTheL2IsNotCold) {
  spec_.objective.state = CacheState::kCold;
  const Evaluation evaluation = evaluate_one("NS=500 FOUND_IN_L2");
  // 4 MiB and more were not read from memory, the L2 of this test holds 1 MiB: refuted, not merely warm.
  EXPECT_EQ(evaluation.verdict.reason, "read_too_little");
}

TEST_F(Physics, TakesNoCountersWhereNothingIsSuspectButInAConfirmation) {
  bandwidth_ = 1e15;
  (void)evaluate_one("NS=500");
  EXPECT_EQ(profiles(), 0);
  settings_.confirm = settings_.held_out = true;
  const Evaluation confirmed = evaluate_one("NS=500");
  EXPECT_EQ(profiles(), 1);
  ASSERT_TRUE(confirmed.score) << confirmed.verdict.message;
  for (const CaseScore& of : confirmed.score->cases) {
    EXPECT_TRUE(of.counters.contains("dram__bytes_read.sum"));
  }
}

TEST(CountedCases, AreSpreadAndHoldEverySuspect) {
  Job timed;
  for (int i = 0; i < 33; ++i) {
    timed.cases.emplace_back().id.value = std::to_string(i);
  }
  const auto counted = counted_cases(timed, {"32", "5"});
  EXPECT_THAT(counted, testing::IsSupersetOf({"32", "5", "0", "10", "30"}));
  EXPECT_LE(counted.size(), 10u);
  timed.cases.resize(3);
  EXPECT_THAT(counted_cases(timed, {}), testing::ElementsAre("0", "1", "2"));
}

TEST_F(Physics, AConfirmationKeepsWhatComputeSanitizerSaid) {
  bandwidth_ = 1e15;
  settings_.confirm = settings_.held_out = true;
  const Evaluation evaluation = evaluate_one("NS=500");
  ASSERT_TRUE(evaluation.score && evaluation.score->sanitizer);
  EXPECT_EQ(evaluation.score->sanitizer->tools.size(), 2u);
  EXPECT_THAT(evaluation.notes, Contains("compute-sanitizer 2025.3.1 racecheck: 2 errors, 1 warning"));
  EXPECT_TRUE(evaluation.verdict.passed);  // evidence, no verdict
  EXPECT_NE(std::ranges::find(evaluation.costs, "compute-sanitizer: racecheck", &Cost::step), evaluation.costs.end());
}

TEST(SanitizerCases, AreTheLargestOfTheSmallOnes) {
  const Spec spec = small_spec();
  const auto cases = sanitizer_cases(spec.cases.at("check"));
  ASSERT_FALSE(cases.empty());
  for (const Case& of : cases) {
    EXPECT_LE(of.axes.at("N"), 32'768);
  }
}

// ---- sabotage -------------------------------------------------------------------------------------------------------

// Quads of candidate, champion and, in the first 12, the champion apart.
Measurement beside_and_apart(double beside, double apart, double noise = 0.001) {
  CaseTiming timing;
  timing.case_id = "time/N=1";
  timing.arms = {"candidate", "champion", "champion_again", "champion_apart"};
  for (std::int32_t quad = 0; quad < 24; ++quad) {
    for (std::int32_t slot = 0; slot < 2; ++slot) {
      const double factor = 1 + noise * ((quad * 7 + slot * 3) % 5 - 2);
      timing.samples.push_back({1, quad, slot, beside * factor, 0});
      timing.samples.push_back({2, quad, slot, beside / factor, 0});
      if (quad < 12) {
        timing.samples.push_back({3, quad, slot, apart / factor, 0});
      }
    }
  }
  Measurement measurement;
  measurement.cases.push_back(std::move(timing));
  return measurement;
}

TEST(Sabotage, IsRefusedWhenTheChampionIsSlowerBesideTheCandidate) {
  const auto verdict = sabotage_in(beside_and_apart(1030, 1000, 0), 0.005);
  ASSERT_TRUE(verdict);
  EXPECT_EQ(verdict->reason, "sabotage");
  EXPECT_EQ(verdict->gate, Gate::kTimedRun);
  EXPECT_THAT(verdict->message, HasSubstr("champion takes 3.0 %"));
}

TEST(Sabotage, IsRefusedWhenTheChampionIsFasterBesideTheCandidateToo) {
  EXPECT_TRUE(sabotage_in(beside_and_apart(970, 1000), 0.005));
}

TEST(Sabotage, IsNotSeenInEqualTimesNorInNoise) {
  EXPECT_FALSE(sabotage_in(beside_and_apart(1000, 1000), 0.005));
  EXPECT_FALSE(sabotage_in(beside_and_apart(1008, 1000), 0.005));        // under 1 %: surroundings have effects
  EXPECT_FALSE(sabotage_in(beside_and_apart(1030, 1000, 0.03), 0.005));  // 3 % in noise of 6 %
}

TEST(Sabotage, NeedsQuadsInBothSurroundings) {
  Measurement measurement = beside_and_apart(1030, 1000);
  std::erase_if(measurement.cases[0].samples, [](const Sample& sample) { return sample.arm == 3 && sample.quad > 4; });
  EXPECT_FALSE(sabotage_in(measurement, 0.005));
}

}  // namespace
}  // namespace kf
