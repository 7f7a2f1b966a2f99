// SPDX-License-Identifier: Apache-2.0
// The steps around a timing: baseline checks, copy row, champion, kernel records, costs.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <set>

#include "factory/baseline_check.h"
#include "factory/copy_ways.h"
#include "factory/costs.h"
#include "factory/evaluation.h"
#include "factory/sabotage.h"
#include "factory/score.h"
#include "factory/stop.h"
#include "factory/tune_times.h"
#include "fakes.h"

namespace kf {
namespace {

using testing::Contains;
using testing::HasSubstr;
using testing::Not;

class TimingSteps : public testing::Test {
 protected:
  Candidate candidate(const std::string& body, const std::string& tune = "") {
    return parse_candidate(candidate_source(body, tune), "test").value();
  }
  Evaluation evaluate_one(const std::string& body, const std::string& tune = "") {
    return evaluate_with(factory(), jobs_, candidate(body, tune), settings_, {});
  }
  const Factory& factory() { return factory_; }
  std::int64_t count_of(const std::string& kind) const {
    const std::vector<std::string> kinds = rig_.kinds();
    return std::ranges::count_if(kinds, [&](const std::string& k) { return k.starts_with(kind + ":"); });
  }
  static bool has_cost(const Evaluation& evaluation, const std::string& step) {
    return std::ranges::find(evaluation.costs, step, &Cost::step) != evaluation.costs.end();
  }

  Spec spec_ = small_spec();
  FakeCompiler compiler_;
  FakeRig rig_{gpu_facts()};
  HandClock clock_;
  Factory factory_ = factory_of(spec_, compiler_, rig_, clock_);
  JobBuilder jobs_{factory_, 2};
  EvaluationSettings settings_;
};

TEST_F(TimingSteps, SayNothingOfCliffsWhereNoNeighbourWasLookedAt) {
  settings_.cliffs = true;
  const auto passed_cliffs = [&] {
    const Evaluation evaluation = evaluate_one("NS=500");
    return std::ranges::find(evaluation.steps, Gate::kCliffs, &Verdict::gate) != evaluation.steps.end();
  };
  EXPECT_TRUE(passed_cliffs());
  spec_.constraints.push_back(Expression::parse("N % 8 == 0", "constraint").value());
  EXPECT_FALSE(passed_cliffs());
}

TEST_F(TimingSteps, ALaunchThatDoesNotEndBesideACliffSaysWhatTheTimedCaseTakes) {
  settings_.cliffs = true;
  std::string neighbour, reason = "timeout";
  rig_.edit_timing = [&](const Job& job, TimeReport& report) {
    if (job.cases[0].id.value.starts_with("held_out/")) {
      report.verdict.passed = false;
      report.verdict.reason = reason;
      report.verdict.message = "it went wrong";
      report.verdict.case_id = neighbour = job.cases[0].id.value;
    }
  };
  Verdict verdict = evaluate_one("NS=2500").verdict;
  EXPECT_EQ(verdict.gate, Gate::kCliffs);
  EXPECT_EQ(verdict.reason, "timeout");
  EXPECT_EQ(verdict.case_id, neighbour);
  EXPECT_THAT(verdict.message,
              testing::StartsWith("(timed run, on a neighbour of a timed case) it went wrong; time/N="));
  EXPECT_THAT(verdict.message, HasSubstr(", its neighbour, takes 2.50 us: where this is no hang, sizes"));
  reason = "illegal_access";
  verdict = evaluate_one("NS=2500").verdict;
  EXPECT_EQ(verdict.message, "(timed run, on a neighbour of a timed case) it went wrong");
}

TEST_F(TimingSteps, PutsKernelRecordsBesideEvents) {
  const Evaluation evaluation = evaluate_one("NS=500");
  ASSERT_EQ(evaluation.state, AttemptState::kMeasured);
  ASSERT_FALSE(evaluation.score->cases.empty());
  for (const CaseScore& of : evaluation.score->cases) {
    EXPECT_GT(of.candidate_records.samples, 0);
    EXPECT_NEAR(of.candidate_records.median, 500, 1);
    EXPECT_NEAR(of.baseline_records.median, 1000, 1);
  }
  EXPECT_EQ(evaluation.score->method, ClockMethod::kEvents);
  EXPECT_EQ(evaluation.score->cases.size(), 3U);
}

TEST_F(TimingSteps, RefusesACandidateWhoseOtherGridsRan) {
  const Evaluation evaluation = evaluate_one("RUNS_OTHER_GRIDS");
  EXPECT_EQ(evaluation.state, AttemptState::kRejected);
  EXPECT_EQ(evaluation.verdict.reason, "launch_truth");
  EXPECT_FALSE(evaluation.score);
}

TEST_F(TimingSteps, BelievesKernelRecordsOfOtherKernelsOnlyWhenTheySaySoTwice) {
  const Evaluation evaluation = evaluate_one("NS=500 MISREAD_ONCE");
  ASSERT_EQ(evaluation.state, AttemptState::kMeasured) << evaluation.verdict.message;
  EXPECT_GT(evaluation.score->cases.front().candidate_records.samples, 0);
}

TEST_F(TimingSteps, SaysThatThereAreNoKernelRecords) {
  const Evaluation evaluation = evaluate_one("NO_CUPTI");
  EXPECT_EQ(evaluation.state, AttemptState::kMeasured);
  EXPECT_THAT(evaluation.notes, Contains(HasSubstr("no libcupti.so.13 here")));
  EXPECT_EQ(evaluation.score->cases.front().candidate_records.samples, 0);
}

TEST_F(TimingSteps, ChecksBaselinesAndSweepsCopiesOnceForAllCandidates) {
  (void)evaluate_one("NS=500");
  (void)evaluate_one("NS=400");
  EXPECT_EQ(count_of("copies"), 1);
  const auto jobs = rig_.jobs();
  EXPECT_EQ(std::ranges::count_if(
                jobs, [](const Job& job) { return job.keep_going && job.arms.front().name == "baseline:naive"; }),
            1);
}

TEST_F(TimingSteps, CountsNoBaselineWhereItIsWrong) {
  for (BaselineSpec& baseline : spec_.baselines) {
    baseline.source.content = candidate_source("WRONG");
  }
  JobBuilder jobs(factory(), 2);
  const Evaluation evaluation = evaluate_with(factory(), jobs, candidate("NS=500"), settings_, {});
  ASSERT_TRUE(evaluation.score);
  EXPECT_EQ(evaluation.score->cases.front().baseline.samples, 0);
  EXPECT_THAT(evaluation.score->cases.front().notes, Contains(HasSubstr("baseline naive does not count here")));
}

TEST_F(TimingSteps, TunesABaselineOnceAsItDoesACandidate) {
  for (BaselineSpec& baseline : spec_.baselines) {
    baseline.source.content = candidate_source("NAIVE NS=1000", R"("FACTOR": [3, 1, 2])");
  }
  JobBuilder jobs(factory(), 2);
  const Evaluation evaluation = evaluate_with(factory(), jobs, candidate("NS=500"), settings_, {});
  ASSERT_TRUE(evaluation.score);
  EXPECT_NEAR(evaluation.score->cases.front().baseline.median, 1000, 1);  // the first point would be 3000
  (void)evaluate_with(factory(), jobs, candidate("NS=400"), settings_, {});
  const std::vector<Job> made = rig_.jobs();
  EXPECT_EQ(std::ranges::count_if(made, [](const Job& job) { return job.arms.front().name == "variant:0"; }), 1);
}

// Half a second for each launch: the gates after the checks launch most of them.
TEST_F(TimingSteps, AllowACheckTheTimeOfTheGatesBehindIt) {
  JobBuilder jobs(factory(), 2);
  const std::vector<Case> cases = spec_.cases.at("time");
  const auto deadline = [&] { return jobs.check_job(cases, Arm{}, {CheckPoint{}}, {}).deadline; };
  const auto without = deadline();
  EXPECT_GE(without, std::chrono::milliseconds(30'000 + 500 * (1 + 5 * std::ssize(cases) + 20)));
  spec_.relations = {"permute:N"};
  EXPECT_GE(deadline(), without + std::chrono::seconds(1));
}

// What a timed launch of a quantisation may leave out is looked at on the host, which holds no whole large case.
TEST_F(TimingSteps, GiveIllConditionedOutputsAReferenceOfMovedInputs) {
  const auto wide_of = [&](const Case& of) {
    JobBuilder jobs(factory(), 2);
    return jobs.time_job({of}, {}, false, settings_, {}).variants;
  };
  const Case small = spec_.cases.at("time").at(0);
  EXPECT_TRUE(wide_of(small).empty());
  spec_.tolerance["y"].ill_conditioned = 0.01;
  std::vector<ReferenceVariant> wide = wide_of(small);
  ASSERT_EQ(wide.size(), 1U);
  EXPECT_EQ(wide[0].kind, ReferenceVariant::Kind::kWideInputs);
  EXPECT_EQ(wide[0].cases.at(0).axes, small.axes);

  const OrError<Case> large = resized_case(spec_, small, {{"N", 40'000'000}}, "time");
  ASSERT_TRUE(large);
  spec_.reference.slice = "N";
  wide = wide_of(*large);
  ASSERT_EQ(wide.size(), 1U);
  const std::int64_t window = wide[0].cases.at(0).axes.at("N");
  EXPECT_GT(window, 10'000);
  EXPECT_LT(window, 100'000);
  EXPECT_EQ(wide[0].arm.plans.at(0).slice_case.axes.at("N"), window);
  spec_.reference.slice = "";
  wide = wide_of(*large);
  ASSERT_EQ(wide.size(), 1U);
  EXPECT_TRUE(wide[0].cases.at(0).tensors.empty());
}

TEST_F(TimingSteps, SaysThatPythonBaselinesWereNotRun) {
  BaselineSpec torch;
  torch.name = "torch";
  torch.kind = BaselineSpec::Kind::kPython;
  spec_.baselines.push_back(torch);
  EXPECT_THAT(evaluate_one("NS=500").notes,
              Contains(HasSubstr("torch was not run: python baselines are not supported")));
}

TEST_F(TimingSteps, DoesNotBlameTheCandidateForItsChampion) {
  settings_.champion = candidate("WRONG_TIMED");
  const Evaluation evaluation = evaluate_one("NS=500");
  EXPECT_EQ(evaluation.state, AttemptState::kMeasured);
  EXPECT_THAT(evaluation.notes, Contains(HasSubstr("timed without the champion")));
}

TEST_F(TimingSteps, BlamesTheCandidateForAFaultThatStaysWithoutItsChampion) {
  settings_.champion = candidate("NS=600");
  EXPECT_EQ(evaluate_one("FAULTS_IN_BATCH").state, AttemptState::kRejected);
}

TEST_F(TimingSteps, DropsTheTunePointThatARefusalNames) {
  // FACTOR=2 is slower, and its define makes another build; the source is the same, so that all points are wrong.
  const Evaluation evaluation = evaluate_one("WRONG_TIMED", R"("FACTOR": [1, 2])");
  EXPECT_EQ(evaluation.state, AttemptState::kRejected);
  EXPECT_THAT(evaluation.notes, Contains(HasSubstr("refused FACTOR=1: mismatch")));
}

TEST_F(TimingSteps, TimesTunePointsAloneWhenNobodyCanTellWhoFaulted) {
  const Evaluation evaluation = evaluate_one("FAULTS_IN_BATCH", R"("FACTOR": [1, 2, 3])");
  EXPECT_EQ(evaluation.state, AttemptState::kRejected);
  EXPECT_THAT(evaluation.notes, Contains(HasSubstr("refused FACTOR=2: illegal_access")));
}

TEST_F(TimingSteps, TimesACaseAgainWhoseControlDiffered) {
  const Evaluation evaluation = evaluate_one("NS=500 NOISE_ONCE");
  ASSERT_TRUE(evaluation.score);
  EXPECT_EQ(evaluation.score->against_baseline, Comparison::kWin);
  EXPECT_THAT(evaluation.score->cases.front().notes, Contains(HasSubstr("timed a second time")));
  EXPECT_EQ(evaluation.score->cases.size(), 3U);
  const std::vector<std::string> kinds = rig_.kinds();
  EXPECT_THAT(kinds, Contains("time:1"));  // that case alone
}

TEST_F(TimingSteps, RefusesACaseWhoseControlDiffersTwice) {
  const Evaluation evaluation = evaluate_one("NS=500 NOISE");
  ASSERT_TRUE(evaluation.score);
  EXPECT_EQ(evaluation.score->against_baseline, Comparison::kRefused);
}

TEST_F(TimingSteps, TellsWhatEachStepCost) {
  const Evaluation evaluation = evaluate_one("NS=500");
  for (const char* step : {"source audit", "compile", "binary audit", "plan", "references and harness", "check",
                           "check: compare", "baseline checks", "baselines and copy row", "timing", "kernel records"}) {
    EXPECT_TRUE(has_cost(evaluation, step)) << step;
  }
}

// The baseline takes a tenth more (or less) beside the candidate than apart from it.
void add_slowed_baseline(TimeReport& report, double factor = 1.1) {
  for (CaseTiming& timing : report.measurement.cases) {
    const auto baseline = std::ranges::find(timing.arms, "baseline:naive") - timing.arms.begin();
    const auto apart = static_cast<std::int32_t>(timing.arms.size());
    timing.arms.emplace_back("baseline:naive_apart");
    for (std::size_t i = 0, end = timing.samples.size(); i < end; ++i) {
      Sample sample = timing.samples[i];
      if (sample.arm == baseline) {
        sample.arm = apart;
        sample.nanoseconds /= factor;
        timing.samples.push_back(sample);
      }
    }
  }
}

TEST_F(TimingSteps, RefusesACandidateThatSlowsTheArmsBesideIt) {
  rig_.edit_timing = [](const Job& job, TimeReport& report) {
    if (job.arms.front().name == "candidate" && job.method == ClockMethod::kEvents) {
      add_slowed_baseline(report);
    }
  };
  EXPECT_EQ(evaluate_one("NS=500").verdict.reason, "sabotage");
}

TEST_F(TimingSteps, TakesNoBaselineThatIsWrongForAWitness) {
  for (BaselineSpec& baseline : spec_.baselines) {
    baseline.source.content = candidate_source("WRONG");
  }
  rig_.edit_timing = [](const Job& job, TimeReport& report) {
    if (job.arms.front().name == "candidate" && job.method == ClockMethod::kEvents) {
      add_slowed_baseline(report);
    }
  };
  JobBuilder jobs(factory(), 2);
  const Evaluation evaluation = evaluate_with(factory(), jobs, candidate("NS=500"), settings_, {});
  EXPECT_EQ(evaluation.state, AttemptState::kMeasured) << evaluation.verdict.message;
  for (const CaseTiming& timing : evaluation.measurement->cases) {
    EXPECT_EQ(std::ranges::count_if(timing.notes, [](const auto& note) { return note.starts_with("baseline naive"); }),
              1);
    for (const Sample& sample : timing.samples) {
      EXPECT_FALSE(timing.arms[static_cast<std::size_t>(sample.arm)].starts_with("baseline:naive"));
    }
  }
}

TEST_F(TimingSteps, SabotageSaysSlowerOrFaster) {
  const auto said = [](double factor) {
    CaseTiming timing;
    timing.arms = {"candidate", "baseline:naive"};
    for (std::int32_t quad = 0; quad < 12; ++quad) {
      timing.samples.push_back({1, quad, 0, 1000, 0});
    }
    TimeReport report;
    report.measurement.cases = {timing};
    add_slowed_baseline(report, factor);
    return sabotage_in(report.measurement, 0.005).value().message;
  };
  EXPECT_THAT(said(1.1), HasSubstr("takes 10.0 % more time"));
  EXPECT_THAT(said(0.9), HasSubstr("takes 10.0 % less time"));
}

TEST_F(TimingSteps, MeasuresOnOtherContentsThanPointsWereChosenOn) {
  settings_.confirm = true;
  (void)evaluate_one("NS=500", R"("FACTOR": [1, 2])");
  std::set<std::uint64_t> chosen_on, measured_on;
  for (const Job& job : rig_.jobs()) {
    if (job.kind == Job::Kind::kTime && job.arms.front().name.starts_with("variant:")) {
      chosen_on.insert(job.time_seeds.begin(), job.time_seeds.end());
    } else if (job.kind == Job::Kind::kTime && job.arms.front().name == "candidate") {
      measured_on.insert(job.time_seeds.begin(), job.time_seeds.end());
    }
  }
  EXPECT_FALSE(chosen_on.empty());
  EXPECT_FALSE(measured_on.empty());
  for (const std::uint64_t seed : chosen_on) {
    EXPECT_FALSE(measured_on.contains(seed));
  }
}

TEST_F(TimingSteps, APointThatWasWrongInOneCaseLeavesAndTheNotesSayWhy) {
  rig_.edit_timing = [](const Job&, TimeReport& report) {
    CaseTiming& timing = report.measurement.cases.back();
    const auto drop = [&](std::int32_t arm, const std::string& why) {
      std::erase_if(timing.samples, [&](const Sample& sample) { return sample.arm == arm; });
      timing.notes.push_back(timing.arms[static_cast<std::size_t>(arm)] + std::string(kDoesNotCount) + why);
    };
    drop(1, std::string(kWrongOutputs) + "row 3");
    drop(2, "launch_refused: too much shared memory");
  };
  const Candidate swept = candidate("NS=500", R"("FACTOR": [3, 1, 2])");
  const TuneTimes times =
      time_tune_points(factory(), jobs_, swept, spec_.cases.at("time"), tune_points(swept.plan), 3, settings_, {});
  ASSERT_EQ(times.points.size(), 2U);
  EXPECT_EQ(words(times.points[0]), "FACTOR=3");
  EXPECT_EQ(words(times.points[1]), "FACTOR=2");
  EXPECT_NEAR(times.nanoseconds.at(1).front(), 1000, 1);
  EXPECT_THAT(times.notes, Contains(HasSubstr("refused FACTOR=1: wrong outputs in a timed launch: row 3")));
  EXPECT_THAT(times.notes, Contains(HasSubstr("FACTOR=2 was dropped from")));
}

std::string rig_fault_of(const Evaluation& evaluation) {
  return evaluation.rig_fault ? evaluation.rig_fault->reason : "";
}

TEST_F(TimingSteps, AnAnswerWithFewerCasesThanTheJobIsTheRigs) {
  for (const std::string arm : {"candidate", "copy:"}) {
    JobBuilder jobs(factory(), 2);
    rig_.edit_timing = [&](const Job& job, TimeReport& report) {
      if (job.arms.front().name.starts_with(arm)) {
        report.measurement.cases.pop_back();
      }
    };
    EXPECT_EQ(rig_fault_of(evaluate_with(factory(), jobs, candidate("NS=500"), settings_, {})), "protocol") << arm;
  }
}

TEST_F(TimingSteps, AnAnswerInAnotherOrderThanTheJobIsTheRigs) {
  rig_.edit_timing = [](const Job& job, TimeReport& report) {
    if (job.arms.front().name == "candidate") {
      std::ranges::reverse(report.measurement.cases);
    }
  };
  EXPECT_EQ(rig_fault_of(evaluate_one("NS=500")), "protocol");
}

TEST(CostLog, AddsUpWhatHasOneName) {
  HandClock clock;
  CostLog log(&clock);
  log.add({"check", 3, 1});
  log.add({"check", 4, 2});
  log.add_inside("check", {{"compare", 1, 5}});
  const std::vector<Cost> expected{{"check", 7, 3}, {"check: compare", 1, 5}};
  EXPECT_EQ(log.all(), expected);
}

TEST(CopyClass, IsThePowerOfTwoBelowAndNeverMoreThanAGibibyte) {
  EXPECT_EQ(copy_class(1), 16);
  EXPECT_EQ(copy_class(1000), 512);
  EXPECT_EQ(copy_class(1LL << 20), 1LL << 20);
  EXPECT_EQ(copy_class(9LL << 30), 1LL << 30);
}

}  // namespace
}  // namespace kf
