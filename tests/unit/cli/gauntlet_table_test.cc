// SPDX-License-Identifier: Apache-2.0
#include "cli/gauntlet_table.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "printed.h"

namespace kf {
namespace {

using testing::HasSubstr;
using testing::Not;

Verdict step(Gate gate, Launches of, std::string reason = {}, std::int64_t checks = 0) {
  Verdict verdict;
  verdict.gate = gate;
  verdict.of = of;
  verdict.passed = reason.empty();
  verdict.message = reason.empty() ? "" : "what " + reason + " says";
  verdict.case_id = reason.empty() ? "" : "check/M=7";
  verdict.reason = std::move(reason);
  verdict.checks = checks;
  return verdict;
}

// As beside a GPU: the emulator in front refuses, then the device, then the confirmation.
Evaluation refused_everywhere() {
  Evaluation evaluation;
  evaluation.steps = {step(Gate::kPlan, Launches::kNone),
                      step(Gate::kCheck, Launches::kEmulatorFirst, "race"),
                      step(Gate::kCheck, Launches::kFewCases, {}, 6),
                      step(Gate::kRepeat, Launches::kFewCases, {}, 12),
                      step(Gate::kCheck, Launches::kTheRest, "mismatch", 40),
                      step(Gate::kTimedRun, Launches::kNone, {}, 44),
                      step(Gate::kConfirm, Launches::kEmulatorFirst, "race"),
                      step(Gate::kConfirm, Launches::kTheRest, {}, 60)};
  evaluation.verdict = evaluation.steps[1];
  evaluation.state = AttemptState::kRejected;
  return evaluation;
}

std::string shown(const Evaluation& evaluation, const std::string& kind, int columns = 120) {
  DeviceFacts facts;
  facts.kind = kind;
  facts.arch = "sm_90a";
  return printed(Terminal{.columns = columns},
                 [&](Console& console) { print_gauntlet(console, "my.cu", evaluation, facts); });
}

TEST(Gauntlet, SaysOfEachRowWhereItRan) {
  const std::string text = shown(refused_everywhere(), "cuda");
  for (const char* row :
       {"check      emulator in front                race", "check      GPU, few cases                   passed",
        "check      GPU, the rest                    mismatch", "timed run  GPU                              passed",
        "confirm    confirmation, emulator in front  race", "confirm    confirmation, the rest           passed"}) {
    EXPECT_THAT(text, HasSubstr(row));
  }
  EXPECT_THAT(shown(refused_everywhere(), "emulator"), HasSubstr("emulator, few cases"));
}

TEST(Gauntlet, TellsTheRefusalThatDecidedInFullAndTheOthersBelowIt) {
  Evaluation evaluation = refused_everywhere();
  evaluation.steps[1].message = std::string(1000, 'a') + " end";
  const std::string text = shown(evaluation, "cuda", 80);
  EXPECT_THAT(text, HasSubstr("refused check: race [check/M=7]\n" + std::string(1000, 'a') + " end\n"));
  EXPECT_THAT(text, HasSubstr("  also check (GPU, the rest): mismatch: what mismatch says\n"));
  EXPECT_THAT(text, HasSubstr("  REFUSED\n"));
}

TEST(Gauntlet, DoesNotCallPassedWhatWasNotExecuted) {
  Evaluation built;
  built.steps = {step(Gate::kCompile, Launches::kNone), step(Gate::kPlan, Launches::kNone)};
  const std::string text = shown(built, "none");
  EXPECT_THAT(text, HasSubstr("built for sm_90a; NOT executed: --device none"));
  EXPECT_THAT(text, Not(HasSubstr("passed every gate")));
  EXPECT_THAT(text, Not(HasSubstr("compared: launches"))) << "no row has any";
  EXPECT_THAT(shown(built, "emulator"), HasSubstr("passed every gate that ran"));
}

TEST(Gauntlet, OfTwoPassesThatAreOneRowSaysNoPart) {
  Evaluation right;
  right.steps = {step(Gate::kPerturbation, Launches::kFewCases, {}, 12),
                 step(Gate::kPerturbation, Launches::kTheRest, {}, 60)};
  const std::string text = shown(right, "cuda");
  EXPECT_THAT(text, HasSubstr("perturbation  GPU    passed         60"));
  EXPECT_THAT(text, Not(HasSubstr("few cases")));
}

}  // namespace
}  // namespace kf
