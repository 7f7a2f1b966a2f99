// SPDX-License-Identifier: Apache-2.0
// What happens to tune points and close rivals when a run confirms.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>

#include "factory/settle.h"
#include "fakes.h"

namespace kf {
namespace {

using testing::Contains;
using testing::HasSubstr;

class Settling : public testing::Test {
 protected:
  Factory factory() {
    Factory made = factory_of(spec_, compiler_, rig_, clock_);
    made.ledger = &ledger_;
    return made;
  }
  RunResult run(std::vector<std::string> bodies, const std::string& tune = "", std::int32_t confirmed = 3) {
    FakeModel model([&](const ModelCall& call) {
      return call.role == Role::kLibrarian ? reply_with("```json\n{\"lessons\": []}\n```")
                                           : reply_with(in_fence(candidate_source(bodies.at(call.ordinal - 1), tune)));
    });
    Factory made = factory();
    made.writer = &model;
    RunSettings settings;
    settings.budget.attempts = static_cast<std::int64_t>(bodies.size());
    settings.screen_cases = 2;
    settings.confirmed_attempts = confirmed;
    settings.search.in_flight = 1;
    return run_factory(made, settings, {});
  }
  static std::int64_t confirmed(const RunResult& result) {
    return std::ranges::count_if(result.attempts, [](const Attempt& a) { return a.score && a.score->confirmed; });
  }

  Spec spec_ = small_spec();
  FakeCompiler compiler_;
  FakeRig rig_{gpu_facts()};
  HandClock clock_;
  MemoryLedger ledger_;
};

TEST_F(Settling, WritesTheChosenPointIntoThePlan) {
  const RunResult result = run({"NS=500"}, R"("FACTOR": [2, 1])");
  ASSERT_TRUE(result.champion);
  const Attempt& best = result.attempts.front();
  EXPECT_THAT(best.settled, HasSubstr(R"("select": [{"set": {"FACTOR": 1}}])"));
  EXPECT_EQ(best.settled.find("\"tune\""), std::string::npos);
  const OrErrors<Candidate> settled = parse_candidate(best.settled, "settled");
  ASSERT_TRUE(settled) << to_string(settled.error());
  EXPECT_EQ(tune_points(settled->plan).size(), 1U);
  EXPECT_TRUE(best.score->confirmed);
  EXPECT_NEAR(best.score->speedup, 2.0, 0.01);
}

TEST_F(Settling, LeavesASourceWithoutTunePointsAlone) {
  const RunResult result = run({"NS=500"});
  EXPECT_EQ(result.attempts.front().settled, "");
}

TEST_F(Settling, ConfirmsWhatIsCloseBehindTheBestToo) {
  const RunResult result = run({"NS=500", "NS=510", "NS=700"});
  EXPECT_EQ(confirmed(result), 2);
  EXPECT_EQ(result.champion, AttemptId{1});
}

TEST_F(Settling, ConfirmsNoMoreThanItMay) {
  EXPECT_EQ(confirmed(run({"NS=500", "NS=505", "NS=510", "NS=515"}, "", 2)), 2);
}

TEST_F(Settling, NothingToSettleIsNothing) {
  const Factory made = factory();
  JobBuilder jobs(made, 1);
  const Settled settled =
      settle_tune(made, jobs, parse_candidate(candidate_source("NS=500"), "c").value(), EvaluationSettings{}, {});
  EXPECT_FALSE(settled.candidate);
  EXPECT_TRUE(rig_.jobs().empty());
}

TEST_F(Settling, SaysThatNotAllPointsWereTimed) {
  const Factory made = factory();
  JobBuilder jobs(made, 1);
  EvaluationSettings settings;
  settings.max_variants = 2;
  const Settled settled = settle_tune(
      made, jobs, parse_candidate(candidate_source("NS=500", R"("FACTOR": [1, 2, 3])"), "c").value(), settings, {});
  EXPECT_TRUE(settled.candidate);
  EXPECT_THAT(settled.notes, Contains(HasSubstr("among the first 2 of 3 tune points")));
}

TEST_F(Settling, SaysWhereNoPointRuns) {
  const Factory made = factory();
  JobBuilder jobs(made, 1);
  const Settled settled =
      settle_tune(made, jobs, parse_candidate(candidate_source("WRONG_TIMED", R"("FACTOR": [1, 2])"), "c").value(),
                  EvaluationSettings{}, {});
  EXPECT_FALSE(settled.candidate);
  EXPECT_THAT(settled.notes, Contains(HasSubstr("refused FACTOR=1: mismatch")));
}

}  // namespace
}  // namespace kf
