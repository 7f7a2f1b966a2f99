// SPDX-License-Identifier: Apache-2.0
#include "cli/tables.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <sstream>

#include "printed.h"

namespace kf {
namespace {

using testing::HasSubstr;
using testing::Not;

// What a command writes into a pipe.
std::string printed(const std::function<void(Console&)>& print) {
  return printed(Terminal{}, print);
}

std::vector<std::string> lines_of(const std::string& text) {
  std::vector<std::string> lines;
  std::istringstream stream(text);
  for (std::string line; std::getline(stream, line);) {
    lines.push_back(line);
  }
  return lines;
}

CaseScore case_score(const std::string& id, double nanoseconds) {
  CaseScore of;
  of.case_id = id;
  of.candidate = {nanoseconds, nanoseconds, nanoseconds, 1};
  of.baseline = {2 * nanoseconds, 2 * nanoseconds, 2 * nanoseconds, 1};
  of.copy = {nanoseconds / 2, nanoseconds / 2, nanoseconds / 2, 1};
  of.to_baseline = {0.5, 0.5, 0.5, 1};
  of.against_baseline = Comparison::kWin;
  of.notes = {"the copy row is an estimate"};
  return of;
}

// Two cases that ran and two larger ones that their counts were scaled to.
Score estimated() {
  Score score;
  score.method = ClockMethod::kEstimate;
  score.speedup = 2;
  score.against_baseline = Comparison::kWin;
  for (const char* id : {"emulate/M=256,N=4096,T=float32", "emulate/M=256,N=4096,T=bfloat16"}) {
    score.cases.push_back(case_score(id, 5000));
    score.cases.back().estimate = Estimate{};
  }
  for (const char* id : {"time/M=32768,N=65536,T=float32", "time/M=32768,N=65536,T=bfloat16"}) {
    score.cases.push_back(case_score(id, 123456));
    score.cases.back().scaled_from = score.cases.front().case_id;
    score.cases.back().estimate = Estimate{.dram = 123456};
  }
  return score;
}

TEST(PrintScore, LabelsEveryFigureOfTheEmulator) {
  const std::string text = printed([](Console& console) { print_score(console, estimated(), {}); });
  EXPECT_THAT(text, HasSubstr("ESTIMATE of the emulator, not a time; 2.000x"));
  for (const std::string& line : lines_of(text)) {
    if (line.starts_with("case ")) {
      const bool counts = line.find("sectors") != std::string::npos;
      EXPECT_TRUE(counts || line.find("est. ") != std::string::npos) << line;
      EXPECT_THAT(line, Not(testing::ContainsRegex("  (candidate|baseline|copy|ratio|dram)")));
    }
  }
}

TEST(PrintScore, CountsTheCasesThatTheSpeedUpIsOf) {
  const std::string text = printed([](Console& console) { print_score(console, estimated(), {}); });
  EXPECT_THAT(text, HasSubstr("geometric mean over 2 timed cases"));
  EXPECT_THAT(text, HasSubstr("  not counted"));
}

TEST(PrintScore, FitsIntoAHundredAndTwentyColumns) {
  Score timed = estimated();
  timed.method = ClockMethod::kEvents;
  for (const Score& score : {estimated(), timed}) {
    for (const std::string& line : lines_of(printed([&](Console& console) { print_score(console, score, {}); }))) {
      EXPECT_LE(line.size(), 120U) << line;
    }
  }
}

TEST(PrintScore, SaysANoteThatAllCasesShareOnce) {
  const std::string text = printed([](Console& console) { print_score(console, estimated(), {}); });
  EXPECT_THAT(text, HasSubstr("all cases: the copy row is an estimate"));
  EXPECT_EQ(text.find("the copy row is"), text.rfind("the copy row is"));
}

TEST(LeaderBoard, LabelsEstimatesAndCountsTheirTimedCases) {
  Attempt attempt;
  attempt.id = {1};
  attempt.state = AttemptState::kMeasured;
  attempt.score = estimated();
  const std::vector<Attempt> attempts{attempt};
  const std::vector<std::string> lines =
      lines_of(printed([&](Console& console) { print_leader_board(console, attempts); }));
  ASSERT_EQ(lines.size(), 2U);
  EXPECT_THAT(lines[1], HasSubstr("2.000x estimate      2  right, estimated"));
}

TEST(LeaderBoard, SaysThatFiguresOverOtherCasesDoNotCompare) {
  Attempt screened, confirmed;
  screened.id = {1};
  confirmed.id = {2};
  screened.state = confirmed.state = AttemptState::kMeasured;
  screened.score = confirmed.score = estimated();
  confirmed.score->confirmed = true;
  const auto board = [&] {
    return printed([&](Console& console) { print_leader_board(console, std::vector<Attempt>{screened, confirmed}); });
  };
  EXPECT_THAT(board(), Not(HasSubstr("do not compare")));
  screened.score->cases.pop_back();
  EXPECT_THAT(board(), HasSubstr("do not compare with each other: confirmed attempts stand first"));
}

Cost cost_of(const std::string& step) {
  return {step, 1, 1};
}

TEST(GatesPassed, AreAllThatRanBeforeTheFirstRefusal) {
  Evaluation evaluation;
  evaluation.state = AttemptState::kMeasured;
  Verdict audit, last, timed;
  audit.gate = Gate::kSourceAudit;
  last.gate = Gate::kPerturbation;
  last.checks = 60;
  timed.gate = Gate::kTimedRun;
  timed.checks = 64;
  evaluation.steps = {audit, last, timed};
  for (const char* step : {"source audit", "compile", "binary audit", "plan", "check", "check: gate check",
                           "check: gate repeat", "check: gate perturbation", "timing"}) {
    evaluation.costs.push_back(cost_of(step));
  }
  const auto line = [&] { return printed([&](Console& console) { print_gates_passed(console, evaluation); }); };
  EXPECT_EQ(line(),
            "passed  source audit, compile, binary audit, plan, check, repeat, perturbation, timed run: 64 launches "
            "compared in all\n");
  evaluation.steps[1].passed = evaluation.verdict.passed = false;
  evaluation.steps[1].gate = Gate::kRepeat;
  evaluation.steps.pop_back();
  EXPECT_EQ(line(), "passed  source audit, compile, binary audit, plan, check\n");
  evaluation.steps.pop_back();
  evaluation.state = AttemptState::kOpen;
  EXPECT_EQ(line(), "passed  source audit\n") << "a step that was cut short may have cost time and passed nothing";
}

TEST(GatesPassed, OfARefusedConfirmationAreNotThoseInsideIt) {
  Evaluation evaluation;
  evaluation.state = AttemptState::kRejected;
  evaluation.steps.resize(2);
  evaluation.steps[0].gate = Gate::kSourceAudit;
  evaluation.steps[1].gate = Gate::kConfirm;
  evaluation.steps[1].passed = false;
  evaluation.costs = {cost_of("compile"), cost_of("confirm: gate check")};
  EXPECT_EQ(gates_passed(evaluation), (std::vector<Gate>{Gate::kSourceAudit, Gate::kCompile}));
  evaluation.steps[1].passed = true;
  evaluation.state = AttemptState::kBuilt;
  EXPECT_EQ(gates_passed(evaluation),
            (std::vector<Gate>{Gate::kSourceAudit, Gate::kCompile, Gate::kCheck, Gate::kConfirm}));
}

TEST(ToldOnce, LeavesOutThePassOfTheProbeButNoRefusal) {
  Verdict probe, all, refused;
  probe.gate = all.gate = refused.gate = Gate::kPerturbation;
  probe.checks = 12;
  all.checks = 60;
  refused.passed = false;
  const std::vector<Verdict> passed = told_once(std::vector<Verdict>{probe, all});
  ASSERT_EQ(passed.size(), 1U);
  EXPECT_EQ(passed[0].checks, 60);
  EXPECT_EQ(told_once(std::vector<Verdict>{probe, refused}).size(), 2U);
  EXPECT_EQ(told_once(std::vector<Verdict>{refused, all}).size(), 2U);
}

TEST(PrintChecked, SaysWhatWasLeftOut) {
  const std::vector<CheckedSet> checked{{"check", 3, 0, ""}, {"held_out", 1, 1, "too large here"}};
  EXPECT_EQ(printed([&](Console& console) { print_checked(console, checked); }),
            "checked: 3 check cases, 1 of 2 held-out cases (the others were left out: too large here)\n");
  EXPECT_EQ(printed([&](Console& console) { print_checked(console, {}); }), "");
}

TEST(CostLine, LeavesOutWhatTookNoTimeToSpeakOf) {
  EXPECT_EQ(cost_line(std::vector<Cost>{{"total", 1500, 1}, {"plan", 1, 3}, {"check: compare", 900, 1}}),
            "total 1.50 s");
}

}  // namespace
}  // namespace kf
