// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <algorithm>

#include "fakes.h"

namespace kf {
namespace {

struct EvaluationTest : testing::Test {
  EvaluationTest() { factory = factory_of(spec, compiler, rig, clock); }
  Evaluation run(const std::string& body, const std::string& tune = "") {
    const OrErrors<Candidate> candidate = parse_candidate(candidate_source(body, tune), "candidate.cu");
    EXPECT_TRUE(candidate) << to_string(candidate.error());
    return evaluate(factory, *candidate, settings, stop.get_token());
  }

  Spec spec = small_spec();
  FakeCompiler compiler;
  FakeRig rig{gpu_facts()};
  HandClock clock;
  Factory factory;
  EvaluationSettings settings;
  std::stop_source stop;
};

TEST_F(EvaluationTest, MeasuresARightCandidateAgainstTheBaseline) {
  const Evaluation result = run("NS=500");
  ASSERT_EQ(result.state, AttemptState::kMeasured) << result.verdict.message;
  EXPECT_TRUE(result.verdict.passed);
  ASSERT_TRUE(result.score);
  EXPECT_NEAR(result.score->speedup, 2.0, 0.01);
  EXPECT_EQ(result.score->against_baseline, Comparison::kWin);
  EXPECT_EQ(result.score->cases.size(), 3U);
  EXPECT_EQ(result.score->cases[0].baseline_name, "naive");
  EXPECT_FALSE(result.score->confirmed);
}

TEST_F(EvaluationTest, CallsASlowerCandidateALoss) {
  const Evaluation result = run("NS=2000");
  ASSERT_TRUE(result.score);
  EXPECT_EQ(result.score->against_baseline, Comparison::kLoss);
  EXPECT_NEAR(result.score->speedup, 0.5, 0.01);
}

TEST_F(EvaluationTest, RejectsAWrongCandidateOnItsFirstSmallCasesWithoutTimingIt) {
  const Evaluation result = run("WRONG");
  EXPECT_EQ(result.state, AttemptState::kRejected);
  EXPECT_EQ(result.verdict.gate, Gate::kCheck);
  EXPECT_EQ(result.verdict.reason, "mismatch");
  ASSERT_EQ(rig.jobs().size(), 1U);
  const Job first = rig.jobs().front();
  for (const Case& of : first.cases) {
    EXPECT_LE(of.axes.at("N"), 60'000);
  }
  EXPECT_FALSE(result.score);
}

TEST_F(EvaluationTest, RejectsACandidateThatIsWrongInLargeCasesOnly) {
  const Evaluation result = run("WRONG_LARGE");
  EXPECT_EQ(result.state, AttemptState::kRejected);
  EXPECT_EQ(rig.jobs().size(), 2U);
}

TEST_F(EvaluationTest, RejectsWrongTimedOutputsWhateverTheTime) {
  const Evaluation result = run("NS=1 WRONG_TIMED");
  EXPECT_EQ(result.state, AttemptState::kRejected);
  EXPECT_EQ(result.verdict.gate, Gate::kTimedRun);
  EXPECT_FALSE(result.score);
}

TEST_F(EvaluationTest, ReportsTheCompilersLogAndTouchesNoDevice) {
  const Evaluation result = run("DOES_NOT_COMPILE");
  EXPECT_EQ(result.state, AttemptState::kRejected);
  EXPECT_EQ(result.verdict.gate, Gate::kCompile);
  EXPECT_NE(result.verdict.message.find("candidate.cu:3"), std::string::npos);
  EXPECT_FALSE(result.verdict.case_id.empty());
  EXPECT_TRUE(rig.jobs().empty());
}

TEST_F(EvaluationTest, AuditsTheSourceBeforeAnythingIsCompiled) {
  const Evaluation result = run("x\n#include \"/etc/passwd\"\n//");
  EXPECT_EQ(result.verdict.gate, Gate::kSourceAudit);
  EXPECT_EQ(compiler.compiled(""), 0);
}

TEST_F(EvaluationTest, BlamesTheCandidateForItsFault) {
  const Evaluation result = run("HANGS");
  EXPECT_EQ(result.state, AttemptState::kRejected);
  EXPECT_EQ(result.verdict.reason, "timeout");
}

TEST_F(EvaluationTest, LeavesOpenWhatTheRigSpoilt) {
  const Evaluation result = run("LOSES_DEVICE");
  EXPECT_EQ(result.state, AttemptState::kOpen);
  ASSERT_TRUE(result.rig_fault);
  EXPECT_EQ(result.rig_fault->reason, "vanished");
}

TEST_F(EvaluationTest, LeavesOpenWhatAStopCutShort) {
  rig.before = [this](const Job&) { stop.request_stop(); };
  const Evaluation result = run("WRONG");
  EXPECT_EQ(result.state, AttemptState::kOpen);
  EXPECT_FALSE(result.rig_fault);
}

TEST_F(EvaluationTest, StopsAtBuiltWithoutADevice) {
  factory.rig = nullptr;
  factory.facts.kind = "none";
  const Evaluation result = run("WRONG");
  EXPECT_EQ(result.state, AttemptState::kBuilt);
  ASSERT_FALSE(result.notes.empty());
  EXPECT_NE(result.notes.back().find("not executed"), std::string::npos);
  EXPECT_EQ(result.builds.size(), result.build_cases.size());
  EXPECT_EQ(result.kernels.front().entry, "twice");
}

TEST_F(EvaluationTest, TakesTheFastestTunePoint) {
  const Evaluation result = run("NS=100", R"("FACTOR": [8, 2, 4])");
  ASSERT_EQ(result.state, AttemptState::kMeasured) << result.verdict.message;
  EXPECT_EQ(result.tune.at("FACTOR"), 2);
  EXPECT_EQ(result.variant, 1);
  EXPECT_EQ(result.variants, 3);
  EXPECT_NEAR(result.score->speedup, 5.0, 0.05);
}

TEST_F(EvaluationTest, TriesNoMoreTunePointsThanAllowed) {
  settings.max_variants = 2;
  const Evaluation result = run("NS=100", R"("FACTOR": [8, 4, 1])");
  EXPECT_EQ(result.variants, 2);
  EXPECT_EQ(result.tune.at("FACTOR"), 4);
  EXPECT_NE(result.notes.front().find("3 tune points"), std::string::npos);
}

TEST_F(EvaluationTest, KeepsGoingWithTheFirstTunePointWhenEveryOneIsWrong) {
  settings.keep_going = true;
  const Evaluation result = run("WRONG", R"("FACTOR": [8, 2])");
  EXPECT_EQ(result.verdict.gate, Gate::kCheck);
  EXPECT_EQ(result.tune.at("FACTOR"), 8);
  for (const Gate gate : {Gate::kCompile, Gate::kBinaryAudit, Gate::kPlan, Gate::kCheck, Gate::kTimedRun}) {
    EXPECT_NE(std::ranges::find(result.steps, gate, &Verdict::gate), result.steps.end()) << to_string(gate);
  }
  settings.keep_going = false;
  EXPECT_EQ(run("WRONG", R"("FACTOR": [8, 2])").steps.size(), 2U) << "a run stops at the first refusal";
}

TEST_F(EvaluationTest, KeepsToAGivenTunePoint) {
  settings.tune = Assignment{{"FACTOR", 8}};
  const Evaluation result = run("NS=100", R"("FACTOR": [8, 2, 4])");
  EXPECT_EQ(result.tune.at("FACTOR"), 8);
  EXPECT_EQ(result.variants, 1);
}

TEST_F(EvaluationTest, TimesTheChampionBesideTheCandidate) {
  settings.champion = *parse_candidate(candidate_source("NS=400"), "champion.cu");
  const Evaluation result = run("NS=200");
  ASSERT_TRUE(result.score);
  EXPECT_NEAR(result.score->speedup_over_champion, 2.0, 0.01);
  const Job timed = rig.jobs().back();
  EXPECT_EQ(timed.arms[0].name, "candidate");
  EXPECT_EQ(timed.arms[1].name, "champion");
  EXPECT_EQ(timed.arms[2].name, "baseline:naive");
  EXPECT_TRUE(timed.arms[3].name.starts_with("copy"));
}

TEST_F(EvaluationTest, CopiesAsManyBytesAsTheOperationMoves) {
  run("NS=500");
  const Job timed = rig.jobs().back();
  for (const Arm& arm : timed.arms) {
    if (arm.name.starts_with("copy:")) {
      ASSERT_EQ(arm.own_cases.size(), timed.cases.size());
      EXPECT_EQ(arm.own_cases[0].tensors[0].span_bytes() + arm.own_cases[0].tensors[1].span_bytes(), 8 * (1 << 20));
    }
  }
}

TEST_F(EvaluationTest, ConfirmsWithOtherSeedsHeldOutCasesAndTimedShapes) {
  run("NS=500");
  const Job plain = rig.jobs().front();
  settings.confirm = settings.held_out = true;
  const Evaluation result = run("NS=500");
  ASSERT_TRUE(result.score);
  EXPECT_TRUE(result.score->confirmed);
  std::size_t confirmed_cases = 0, held_out_cases = 0;
  bool held_out = false, timed = false;
  for (const Job& job : rig.jobs()) {
    if (job.kind == Job::Kind::kConfirm) {
      confirmed_cases += job.cases.size();
      for (const Case& of : job.cases) {
        held_out = held_out || of.set == "held_out";
        held_out_cases += of.set == "held_out";
        timed = timed || of.set == "time";
      }
      for (const CheckPoint& check : job.checks) {
        for (const CheckPoint& before : plain.checks) {
          EXPECT_NE(check.seeds, before.seeds);
        }
      }
    }
  }
  EXPECT_EQ(confirmed_cases, 4U + 3U + held_out_cases);
  EXPECT_EQ(held_out_cases, 1U + 12U + 16U);  // its own, neighbours of its timed ones, and sizes drawn
  EXPECT_TRUE(held_out);
  EXPECT_TRUE(timed);
}

TEST_F(EvaluationTest, TimesEmulatedCasesByEstimateOnTheEmulator) {
  factory.facts.kind = "emulator";
  const Evaluation result = run("NS=500");
  ASSERT_TRUE(result.score) << result.verdict.message;
  EXPECT_EQ(result.score->method, ClockMethod::kEstimate);
  EXPECT_EQ(result.score->cases.size(), 1U);
  EXPECT_TRUE(result.score->cases[0].case_id.starts_with("emulate"));
}

TEST_F(EvaluationTest, GivesEveryCheckItsOwnSeeds) {
  run("NS=500");
  std::set<std::uint64_t> seeds;
  std::size_t count = 0;
  for (const Job& job : rig.jobs()) {
    for (const CheckPoint& check : job.checks) {
      seeds.insert(check.seeds.begin(), check.seeds.end());
      count += check.seeds.size();
    }
  }
  EXPECT_GT(count, 8U);
  EXPECT_EQ(seeds.size(), count);
}

TEST_F(EvaluationTest, CompilesWhatIsEqualOnce) {
  run("NS=500");
  EXPECT_EQ(compiler.compiled("NS=500"), 2);  // the probe and the rest; the compiler's cache makes them one
}

TEST_F(EvaluationTest, ABrokenReferenceIsTheSpecsFault) {
  spec.reference.cuda.content = candidate_source("DOES_NOT_COMPILE");
  EXPECT_THROW(run("NS=500"), Fatal);
}

TEST_F(EvaluationTest, SlicesTheReferenceOfALargeCaseAndEndsWithATail) {
  run("NS=500");
  const Job timed = rig.jobs().back();
  for (std::size_t i = 0; i < timed.cases.size(); ++i) {
    const ReferencePlan& plan = timed.reference.plans[i];
    EXPECT_EQ(plan.axis, "N");
    EXPECT_LE(plan.extent, timed.cases[i].axes.at("N"));
    const bool tail = timed.cases[i].axes.at("N") % plan.extent != 0;
    EXPECT_EQ(plan.tail_case.has_value(), tail);
  }
}

}  // namespace
}  // namespace kf
