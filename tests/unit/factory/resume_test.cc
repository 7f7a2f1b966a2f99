// SPDX-License-Identifier: Apache-2.0
// A run that is cut at its n-th write and resumed ends with what an undisturbed run writes.
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "factory/records.h"
#include "fakes.h"
#include "tests/fakes/faulty_ledger.h"

namespace kf {
namespace {

std::expected<Reply, ModelError> scripted(const ModelCall& call) {
  static const std::vector<std::string> kBodies{"NS=900", "WRONG", "", "NS=500", "DOES_NOT_COMPILE"};
  if (call.role == Role::kLibrarian) {
    return reply_with(R"(```json
{"lessons": [{"claim": "half the time", "technique": "t", "predicted": "p", "effect": "faster", "dtypes": [], "shapes": [], "evidence": [{"with": 4, "without": 1}]}]}
```)");
  }
  if (call.role == Role::kRepairer) {
    return reply_with(in_fence(candidate_source("NS=850 repair " + std::to_string(call.ordinal))));
  }
  if (call.ordinal == 3) {
    return reply_with("an answer without code");
  }
  if (call.ordinal > 10'000) {
    return reply_with(in_fence(candidate_source("NS=650 again")));
  }
  return call.ordinal <= kBodies.size() ? reply_with(in_fence(candidate_source(kBodies[call.ordinal - 1])))
                                        : no_reply(ModelError::Kind::kNoReply, false);
}

struct Bench {
  Spec spec = small_spec();
  FakeCompiler compiler;
  FakeRig rig{gpu_facts()};
  HandClock clock;
  FakeModel model{scripted};

  RunResult run(Ledger& ledger, std::int32_t in_flight = 2) {
    Factory factory = factory_of(spec, compiler, rig, clock);
    factory.writer = &model;
    factory.ledger = &ledger;
    factory.origin = "test";
    RunSettings settings;
    settings.budget.attempts = 6;
    settings.search.in_flight = in_flight;
    settings.secret.bytes[0] = 42;
    return run_factory(factory, settings, {});
  }
};

// Records of attempts and lessons by attempt, without sequence numbers, events of the run and durations.
std::map<std::int64_t, std::vector<std::string>> content_of(const Ledger& ledger) {
  std::map<std::int64_t, std::vector<std::string>> content;
  for (const Record& record : ledger.read({0}, ledger.last_attempt())) {
    if (record.stage == Stage::kRun) {
      continue;
    }
    nlohmann::json json = nlohmann::json::parse(record.json);
    json.erase("duration_ms");
    json.erase("costs");
    std::string text = std::string(to_string(record.stage)) + " " + std::to_string(record.of.tune) + " " + json.dump();
    for (const Digest& blob : record.blobs) {
      text += " " + to_hex(blob);
    }
    content[record.of.attempt.value].push_back(text);
  }
  return content;
}

// Where two contents differ first; empty when they do not.
std::string difference(const std::map<std::int64_t, std::vector<std::string>>& found,
                       const std::map<std::int64_t, std::vector<std::string>>& wanted) {
  for (const auto& [attempt, records] : wanted) {
    const auto there = found.find(attempt);
    const std::vector<std::string> none;
    const std::vector<std::string>& ours = there == found.end() ? none : there->second;
    for (std::size_t i = 0; i < std::max(records.size(), ours.size()); ++i) {
      const std::string a = i < ours.size() ? ours[i] : "nothing", b = i < records.size() ? records[i] : "nothing";
      if (a != b) {
        return "attempt " + std::to_string(attempt) + ", record " + std::to_string(i) + ":\n  found  " +
               a.substr(0, 600) + "\n  wanted " + b.substr(0, 600);
      }
    }
  }
  return found.size() == wanted.size() ? "" : "another number of attempts";
}

TEST(ResumedRun, AsksWithTheLimitsThatItBeganWith) {
  Bench bench;
  MemoryLedger ledger;
  RunSettings settings;
  settings.search.max_output_tokens = 8'000;
  settings.search.prompt_bytes = 50'000;
  Factory factory = factory_of(bench.spec, bench.compiler, bench.rig, bench.clock);
  factory.writer = &bench.model;
  write_start(ledger, factory, settings);
  const std::optional<RunStart> start = read_start(ledger);
  ASSERT_TRUE(start);
  EXPECT_EQ(start->search.max_output_tokens, 8'000);
  EXPECT_EQ(start->search.prompt_bytes, 50'000);
}

TEST(Resume, EndsWithTheSameLedgerAfterAFaultAtEveryWrite) {
  MemoryLedger undisturbed;
  Bench bench;
  const RunResult expected = bench.run(undisturbed);
  ASSERT_EQ(expected.reason, StopReason::kBudget);
  ASSERT_EQ(expected.lessons.size(), 1U);
  const auto wanted = content_of(undisturbed);
  std::int64_t writes = 0;
  {
    MemoryLedger fresh;
    FaultyLedger counting(fresh, 0, FaultyLedger::Fault::kThrowBefore);
    Bench{}.run(counting);
    writes = counting.writes();
  }
  ASSERT_GT(writes, 40);
  for (std::int64_t at = 1; at <= writes; ++at) {
    const auto fault = at % 2 == 0 ? FaultyLedger::Fault::kThrowBefore : FaultyLedger::Fault::kThrowAfter;
    MemoryLedger ledger;
    FaultyLedger faulty(ledger, at, fault);
    EXPECT_THROW(Bench{}.run(faulty), Fatal) << "write " << at;
    const RunResult resumed = Bench{}.run(ledger);
    EXPECT_EQ(resumed.reason, StopReason::kBudget) << "write " << at;
    EXPECT_EQ(resumed.champion, expected.champion) << "write " << at;
    EXPECT_EQ(difference(content_of(ledger), wanted), "") << "write " << at;
    if (HasFailure()) {
      return;
    }
  }
}

TEST(Resume, AsksNothingTwiceThatWasAnswered) {
  MemoryLedger ledger;
  Bench first;
  std::int64_t writes = 0;
  {
    MemoryLedger fresh;
    FaultyLedger counting(fresh, 0, FaultyLedger::Fault::kThrowBefore);
    Bench{}.run(counting);
    writes = counting.writes();
  }
  FaultyLedger faulty(ledger, writes / 2, FaultyLedger::Fault::kThrowAfter);
  EXPECT_THROW(first.run(faulty), Fatal);
  std::set<std::string> answered;
  for (const Record& record : ledger.read({1}, ledger.last_attempt())) {
    if (record.stage == Stage::kReplied) {
      const AttemptRecords records = read_attempt(ledger, record.of.attempt);
      answered.insert(std::string(to_string(records.proposal.role)) + " " + std::to_string(records.ordinal));
    }
  }
  ASSERT_FALSE(answered.empty());
  Bench second;
  second.run(ledger);
  for (const std::string& asked : second.model.asked()) {
    EXPECT_FALSE(answered.contains(asked)) << asked;
  }
}

TEST(Resume, DoesNotMeasureAgainWhatWasMeasured) {
  MemoryLedger ledger;
  Bench first;
  first.rig.before = nullptr;
  // Cut right after the first recorded measurement.
  std::int64_t cut = 0;
  {
    MemoryLedger fresh;
    struct Watch final : Ledger {
      Ledger& real;
      std::int64_t writes = 0, at = 0;
      std::mutex mutex;
      explicit Watch(Ledger& ledger) : real(ledger) {}
      AttemptId open_attempt(const ModelCall& call, std::string_view json) override {
        const std::lock_guard lock(mutex);
        ++writes;
        return real.open_attempt(call, json);
      }
      void append(const Record& record) override {
        const std::lock_guard lock(mutex);
        ++writes;
        at = record.stage == Stage::kMeasured && at == 0 ? writes : at;
        real.append(record);
      }
      Digest put(std::span<const std::byte> bytes) override {
        const std::lock_guard lock(mutex);
        ++writes;
        return real.put(bytes);
      }
      std::optional<Bytes> get(const Digest& digest) const override { return real.get(digest); }
      std::vector<Record> read(AttemptId a, AttemptId b) const override { return real.read(a, b); }
      AttemptId last_attempt() const override { return real.last_attempt(); }
    } watch(fresh);
    Bench{}.run(watch, 1);
    cut = watch.at;
  }
  ASSERT_GT(cut, 0);
  FaultyLedger faulty(ledger, cut, FaultyLedger::Fault::kThrowAfter);
  EXPECT_THROW(first.run(faulty, 1), Fatal);
  std::int64_t measured = 0;
  for (const Record& record : ledger.read({1}, ledger.last_attempt())) {
    measured = record.stage == Stage::kMeasured ? record.of.attempt.value : measured;
  }
  ASSERT_GT(measured, 0);
  Bench second;
  second.run(ledger, 1);
  int times = 0;
  for (const Record& record : ledger.read({measured}, {measured})) {
    times += record.stage == Stage::kMeasured ? 1 : 0;
  }
  EXPECT_LE(times, 2);  // the second one can only be the champion's confirmation
}

}  // namespace
}  // namespace kf
