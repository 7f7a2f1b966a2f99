// SPDX-License-Identifier: Apache-2.0
// What a run finds out once is in its ledger: a resumed run takes it from there.
#include <gtest/gtest.h>

#include <algorithm>

#include "factory/records.h"
#include "fakes.h"
#include "tests/fakes/faulty_ledger.h"

namespace kf {
namespace {

struct ARun {
  Spec spec = small_spec();
  FakeCompiler compiler;
  FakeRig rig{gpu_facts()};
  HandClock clock;
  FakeModel model{[](const ModelCall& call) {
    return call.role == Role::kLibrarian
               ? reply_with("```json\n{\"lessons\": []}\n```")
               : reply_with(in_fence(candidate_source("NS=" + std::to_string(500 + call.ordinal))));
  }};

  explicit ARun(const std::string& tune = R"("FACTOR": [2, 1])") {
    spec.baselines.front().source.content = candidate_source("NS=1000", tune);
  }
  RunResult with(Ledger& ledger, std::int64_t attempts) {
    Factory factory = factory_of(spec, compiler, rig, clock);
    factory.writer = &model;
    factory.ledger = &ledger;
    RunSettings settings;
    settings.budget.attempts = attempts;
    settings.search.in_flight = 1;
    settings.secret.bytes[0] = 42;
    return run_factory(factory, settings, {});
  }
  // Jobs in which something of this name was timed: the baseline's tune points are "variant:0", ...; no candidate has
  // any.
  std::int64_t timed(const std::string& arm) const {
    const std::vector<Job> jobs = rig.jobs();
    return std::ranges::count_if(jobs, [&](const Job& job) {
      return std::ranges::any_of(job.arms, [&](const Arm& of) { return of.name == arm; });
    });
  }
};

std::int64_t events(const Ledger& ledger, const std::string& event) {
  const std::vector<Record> records = ledger.read({0}, {0});
  return std::ranges::count_if(
      records, [&](const Record& of) { return of.json.find("\"event\":\"" + event + "\"") != std::string::npos; });
}

TEST(RunOnce, ABaselineIsSettledOnceARunAndNotAgainWhenItIsResumed) {
  MemoryLedger ledger;
  ARun first;
  first.with(ledger, 2);
  EXPECT_EQ(first.timed("variant:0"), 1);
  const std::optional<std::string> source = read_settled_baseline(ledger, "naive");
  ASSERT_TRUE(source);
  EXPECT_NE(source->find(R"("select": [{"set": {"FACTOR": 1}}])"), std::string::npos) << *source;
  ARun resumed;
  resumed.with(ledger, 4);
  EXPECT_GT(resumed.timed("baseline:naive"), 0);
  EXPECT_EQ(resumed.timed("variant:0"), 0);
  EXPECT_EQ(events(ledger, "baseline_settled"), 1);
}

TEST(RunOnce, ABaselineOnWhichNoPointIsRightStaysAsItIsWrittenAlsoWhenResumed) {
  MemoryLedger ledger;
  write_settled_baseline(ledger, "naive", "", {"no tune point ran on all timed cases"});
  EXPECT_EQ(read_settled_baseline(ledger, "naive"), "");
  ARun run;
  run.with(ledger, 1);
  EXPECT_EQ(run.timed("variant:0"), 0);
  EXPECT_GT(run.timed("baseline:naive"), 0);
  EXPECT_EQ(read_settled_baseline(ledger, "other"), std::nullopt);
}

// A ledger of an older version has no such record.
TEST(RunOnce, ARunThatNeverRecordedItSettlesWhenItIsResumed) {
  MemoryLedger ledger;
  ARun old("");
  old.with(ledger, 1);
  EXPECT_EQ(events(ledger, "baseline_settled"), 0);
  ARun resumed;
  resumed.with(ledger, 2);
  EXPECT_EQ(resumed.timed("variant:0"), 1);
}

// Cut at every write up to its end, and resumed: the tune points were timed at most twice, and once where the cut came
// after the record.
TEST(RunOnce, AfterACutTheTunePointsAreTimedAgainOnlyWhereNothingWasRecorded) {
  std::int64_t writes = 0;
  {
    MemoryLedger fresh;
    FaultyLedger counting(fresh, 0, FaultyLedger::Fault::kThrowBefore);
    ARun().with(counting, 1);
    writes = counting.writes();
  }
  bool cut_before = false, cut_after = false;
  for (std::int64_t at = 1; at <= writes; ++at) {
    MemoryLedger ledger;
    FaultyLedger faulty(ledger, at, FaultyLedger::Fault::kThrowBefore);
    ARun first;
    EXPECT_THROW(first.with(faulty, 1), Fatal);
    const bool recorded = read_settled_baseline(ledger, "naive").has_value();
    ARun resumed;
    resumed.with(ledger, 1);
    EXPECT_EQ(resumed.timed("variant:0"), recorded ? 0 : 1) << "cut at write " << at;
    EXPECT_EQ(events(ledger, "baseline_settled"), 1) << "cut at write " << at;
    (recorded ? cut_after : cut_before) = true;
  }
  EXPECT_TRUE(cut_before && cut_after);
}

TEST(RunOnce, WaysToCopyAreTimedOnceARun) {
  MemoryLedger ledger;
  ARun first;
  first.with(ledger, 1);
  EXPECT_GT(first.timed("copy:memcpy"), 0);
  EXPECT_FALSE(read_copy_ways(ledger).empty());
  ARun resumed;
  resumed.with(ledger, 2);
  EXPECT_EQ(resumed.timed("copy:memcpy"), 0);
  EXPECT_GT(resumed.timed("copy"), 0);
}

}  // namespace
}  // namespace kf
