// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <thread>

#include "factory/attempt.h"
#include "factory/records.h"
#include "fakes.h"

namespace kf {
namespace {

// Writers answer by ordinal from a list, repairers with a right candidate, the librarian with no lessons.
FakeModel::Answer answers(std::vector<std::string> bodies) {
  return [bodies = std::move(bodies)](const ModelCall& call) {
    if (call.role == Role::kLibrarian) {
      return reply_with("```json\n{\"lessons\": []}\n```");
    }
    if (call.ordinal > kReaskOrdinal) {
      return reply_with(in_fence(candidate_source("NS=900 reasked")));
    }
    if (call.role == Role::kRepairer) {
      return reply_with(in_fence(candidate_source("NS=800 repair " + std::to_string(call.ordinal))));
    }
    const std::size_t i = call.ordinal - 1;
    return i < bodies.size() ? reply_with(bodies[i]) : no_reply(ModelError::Kind::kNoReply, false);
  };
}

std::string right(const std::string& body) {
  return in_fence(candidate_source(body));
}

struct FactoryTest : testing::Test {
  FactoryTest() {
    settings.budget.attempts = 4;
    settings.search.in_flight = 2;
    settings.secret.bytes[3] = 7;
  }
  RunResult run(FakeModel& model, Ledger& ledger) {
    Factory factory;
    factory.spec = &spec;
    factory.facts = with_device ? gpu_facts() : [] {
      DeviceFacts facts = gpu_facts();
      facts.kind = "none";
      return facts;
    }();
    factory.writer = &model;
    factory.compiler = &compiler;
    factory.rig = with_device ? &rig : nullptr;
    factory.ledger = &ledger;
    factory.clock = &clock;
    factory.observe = [this](const Event& event) { events.push_back(event); };
    return run_factory(factory, settings, stop.get_token());
  }

  Spec spec = small_spec();
  FakeCompiler compiler;
  FakeRig rig{gpu_facts()};
  HandClock clock;
  RunSettings settings;
  bool with_device = true;
  std::stop_source stop;
  std::vector<Event> events;
};

TEST_F(FactoryTest, RunsToItsBudgetAndKeepsTheBestConfirmed) {
  FakeModel model(answers({right("NS=900"), right("NS=500"), right("NS=700"), right("NS=600")}));
  MemoryLedger ledger;
  const RunResult result = run(model, ledger);
  EXPECT_EQ(result.reason, StopReason::kBudget);
  EXPECT_EQ(result.detail, "attempts: 4 of 4");
  ASSERT_EQ(result.attempts.size(), 4U);
  ASSERT_TRUE(result.champion);
  EXPECT_EQ(result.champion->value, 2);
  EXPECT_TRUE(result.beat_baseline);
  EXPECT_TRUE(result.attempts[1].score->confirmed);
  EXPECT_FALSE(result.attempts[0].score->confirmed);
}

TEST_F(FactoryTest, RefusesAtConfirmAndTakesTheNextBest) {
  FakeModel model(answers({right("NS=900"), right("NS=500 WRONG_CONFIRM"), right("NS=700"), right("NS=990")}));
  MemoryLedger ledger;
  const RunResult result = run(model, ledger);
  ASSERT_TRUE(result.champion);
  EXPECT_NE(result.champion->value, 2);
  EXPECT_EQ(result.attempts[1].state, AttemptState::kRejected);
  EXPECT_EQ(result.attempts[1].verdict.gate, Gate::kConfirm);
  EXPECT_EQ(attempts_of(ledger)[1].verdict.gate, Gate::kConfirm);
}

TEST_F(FactoryTest, HasNoChampionWhenEverythingIsWrong) {
  FakeModel model([](const ModelCall& call) {
    constexpr std::array<std::string_view, 3> kFaults{"WRONG", "DOES_NOT_COMPILE", "HANGS"};
    const std::string role(to_string(call.role));
    return reply_with(right(role + " " + std::to_string(call.ordinal) + " " + std::string(kFaults[call.ordinal % 3])));
  });
  MemoryLedger ledger;
  const RunResult result = run(model, ledger);
  EXPECT_FALSE(result.champion);
  EXPECT_FALSE(result.beat_baseline);
  for (const Attempt& attempt : result.attempts) {
    EXPECT_EQ(attempt.state, AttemptState::kRejected);
  }
}

TEST_F(FactoryTest, RecordsWhatAttemptsOfReadsBack) {
  FakeModel model(answers({right("NS=900"), right("WRONG"), right("NS=700"), right("NS=600")}));
  MemoryLedger ledger;
  const RunResult result = run(model, ledger);
  const std::vector<Attempt> read = attempts_of(ledger);
  ASSERT_EQ(read.size(), result.attempts.size());
  for (std::size_t i = 0; i < read.size(); ++i) {
    EXPECT_EQ(read[i].id, result.attempts[i].id);
    EXPECT_EQ(read[i].state, result.attempts[i].state);
    EXPECT_EQ(read[i].source, result.attempts[i].source);
    EXPECT_EQ(read[i].hypothesis, result.attempts[i].hypothesis);
    EXPECT_EQ(read[i].source_hash, result.attempts[i].source_hash);
    EXPECT_EQ(read[i].score.has_value(), result.attempts[i].score.has_value());
    if (read[i].score) {
      EXPECT_EQ(read[i].score->speedup, result.attempts[i].score->speedup);
    }
  }
}

TEST_F(FactoryTest, AsksAgainOnceForAnAnswerThatCannotBeRead) {
  settings.budget.attempts = 1;
  FakeModel model(answers({"I would rather not."}));
  MemoryLedger ledger;
  const RunResult result = run(model, ledger);
  EXPECT_EQ(result.attempts[0].state, AttemptState::kMeasured) << result.attempts[0].verdict.message;
  EXPECT_EQ(model.asked()[1], "writer 10001");
  EXPECT_EQ(result.attempts[0].usage.input_tokens, 200);
}

TEST_F(FactoryTest, RejectsAnAnswerThatCannotBeReadTwice) {
  settings.budget.attempts = 1;
  FakeModel model([](const ModelCall&) { return reply_with("no"); });
  MemoryLedger ledger;
  const RunResult result = run(model, ledger);
  EXPECT_EQ(result.attempts[0].state, AttemptState::kRejected);
  EXPECT_EQ(result.attempts[0].verdict.gate, Gate::kReply);
  EXPECT_EQ(result.attempts[0].verdict.reason, "unreadable");
}

TEST_F(FactoryTest, ProposalsSeeOnlyAttemptsThatAreAWindowBehind) {
  settings.budget.attempts = 5;
  settings.search.in_flight = 3;
  std::mutex mutex;
  std::map<std::uint64_t, std::string> prompts;
  const auto inner = answers(
      {right("NS=901 one"), right("NS=902 two"), right("NS=903 three"), right("NS=904 four"), right("NS=905 five")});
  FakeModel model([&](const ModelCall& call) {
    if (call.role == Role::kWriter) {
      const std::lock_guard lock(mutex);
      prompts[call.ordinal] = call.prompt;
    }
    return inner(call);
  });
  MemoryLedger ledger;
  run(model, ledger);
  EXPECT_EQ(prompts[1].find("NS=90"), std::string::npos);
  EXPECT_EQ(prompts[3].find("NS=90"), std::string::npos);
  EXPECT_NE(prompts[4].find("NS=901 one"), std::string::npos);
  EXPECT_EQ(prompts[4].find("NS=902 two"), std::string::npos);
  EXPECT_NE(prompts[5].find("NS=902 two"), std::string::npos);
  EXPECT_EQ(prompts[5].find("NS=903 three"), std::string::npos);
}

TEST_F(FactoryTest, KeepsNoMoreThanAWindowInFlight) {
  settings.budget.attempts = 8;
  settings.search.in_flight = 3;
  std::atomic<int> now = 0, most = 0;
  const auto inner = answers({right("NS=1 a"), right("NS=2"), right("NS=3"), right("NS=4"), right("NS=5"),
                              right("NS=6"), right("NS=7"), right("NS=8")});
  FakeModel model([&](const ModelCall& call) {
    const int here = ++now;
    for (int seen = most; seen < here && !most.compare_exchange_weak(seen, here);) {
    }
    std::this_thread::sleep_for(std::chrono::milliseconds(5));
    --now;
    return inner(call);
  });
  MemoryLedger ledger;
  run(model, ledger);
  EXPECT_GE(most, 2);
  EXPECT_LE(most, 3);
}

TEST_F(FactoryTest, StopsBeforeACallThatTheTokenBudgetDoesNotCover) {
  settings.budget.attempts = 10;
  settings.budget.tokens = 300;  // two replies of 150
  settings.search.in_flight = 1;
  FakeModel model(answers({right("NS=900"), right("NS=800"), right("NS=700")}));
  MemoryLedger ledger;
  const RunResult result = run(model, ledger);
  EXPECT_EQ(result.attempts.size(), 2U);
  EXPECT_EQ(result.detail, "tokens: 300 of 300");
  EXPECT_EQ(model.asked().size(), 2U);  // and no librarian
}

TEST_F(FactoryTest, ASpentBudgetStopsTheReAskBeforeItIsSent) {
  settings.budget.tokens = 100;  // one reply is 150
  FakeModel model(answers({"no code at all", right("NS=800")}));
  settings.search.in_flight = 1;
  MemoryLedger ledger;
  const RunResult result = run(model, ledger);
  EXPECT_EQ(result.reason, StopReason::kBudget);
  EXPECT_EQ(result.detail, "tokens: 150 of 100");
  EXPECT_EQ(model.asked(), std::vector<std::string>{"writer 1"});

  EXPECT_EQ(run(model, ledger).reason, StopReason::kBudget);  // resumed with the same budget: nothing is asked
  EXPECT_EQ(model.asked().size(), 1U);

  settings.budget.tokens = 400;
  settings.budget.attempts = 1;
  FakeModel later(answers({right("NS=700")}));
  EXPECT_EQ(run(later, ledger).attempts.at(0).state, AttemptState::kMeasured);
  EXPECT_EQ(later.asked().front(), "writer 10001");
}

TEST_F(FactoryTest, TokensOfRetriesCountAndSurviveAResume) {
  settings.budget.tokens = 100;
  settings.search.in_flight = 1;
  FakeModel model([&](const ModelCall&) -> std::expected<Reply, ModelError> {
    ModelError error{ModelError::Kind::kBudget, "the run's budget is spent", false, {}};
    error.spent.estimated_input_tokens = 70;
    error.spent.retried_tokens = 50;  // as a model says that was refused its retry
    return std::unexpected(std::move(error));
  });
  MemoryLedger ledger;
  const RunResult result = run(model, ledger);
  EXPECT_EQ(result.reason, StopReason::kBudget);
  EXPECT_EQ(result.detail, "tokens: 120 of 100");
  EXPECT_EQ(result.attempts.at(0).state, AttemptState::kNoReply);
  EXPECT_EQ(run(model, ledger).detail, "tokens: 120 of 100");
  EXPECT_EQ(model.asked().size(), 1U);
}

TEST(Spending, CountsKnownTokensAndEstimatesOfTheUnknownOnes) {
  Spending spending;
  Budget budget;
  budget.tokens = 1'000;
  budget.cost_nanodollars = 500;
  spending.limit(budget);
  Usage known;
  known.input_tokens = 100;
  known.estimated_input_tokens = 10;  // what was told counts
  known.output_tokens = known.estimated_output_tokens = 50;
  Usage guessed;
  guessed.estimated_input_tokens = 700;
  spending.add(known);
  EXPECT_EQ(spending.refusal(), "");
  EXPECT_EQ(spending.refusal(guessed), "");
  guessed.retried_tokens = 150;
  EXPECT_EQ(spending.refusal(guessed), "tokens: 1000 of 1000");
  EXPECT_EQ(spending.refusal(), "") << "a call under way is asked about, not counted";
  Usage dear;
  dear.cost_nanodollars = 500;
  spending.add(dear);
  EXPECT_EQ(spending.refusal(), "cost: $0.0000005 of $0.0000005");
}

TEST_F(FactoryTest, StopsWhenTheWallTimeIsOver) {
  settings.budget.attempts = 10;
  settings.budget.wall = std::chrono::minutes(1);
  settings.search.in_flight = 1;
  const auto inner = answers({right("NS=900"), right("NS=800"), right("NS=700")});
  FakeModel model([&](const ModelCall& call) {
    clock.advance(std::chrono::seconds(40));
    return inner(call);
  });
  MemoryLedger ledger;
  EXPECT_EQ(run(model, ledger).attempts.size(), 2U);
}

TEST_F(FactoryTest, CountsTheWallTimeOfEarlierStartsButNotThePauses) {
  settings.budget.attempts = 1;
  settings.budget.wall = std::chrono::minutes(1);
  settings.search.in_flight = 1;
  const auto inner = answers({right("NS=900"), right("NS=800"), right("NS=700")});
  FakeModel model([&](const ModelCall& call) {
    clock.advance(std::chrono::seconds(call.role == Role::kLibrarian ? 0 : 40));
    return inner(call);
  });
  MemoryLedger ledger;
  EXPECT_EQ(run(model, ledger).attempts.size(), 1U);
  clock.advance(std::chrono::hours(8));
  settings.budget.attempts = 10;
  EXPECT_EQ(run(model, ledger).attempts.size(), 2U);  // 40 s are used: one more begins, none after 80 s
}

TEST_F(FactoryTest, TellsAFailureRatherThanASpentBudget) {
  settings.budget.attempts = 1;
  FakeModel model([&](const ModelCall&) { return no_reply(ModelError::Kind::kAuthentication, false); });
  MemoryLedger ledger;
  EXPECT_EQ(run(model, ledger).reason, StopReason::kModelFailed);
}

TEST_F(FactoryTest, OneLostReplyCostsOneAttempt) {
  settings.search.in_flight = 1;
  const auto inner = answers({right("NS=900"), right("NS=800"), right("NS=700"), right("NS=600")});
  FakeModel model([&](const ModelCall& call) {
    return call.role == Role::kWriter && call.ordinal == 2 ? no_reply(ModelError::Kind::kTimeout) : inner(call);
  });
  MemoryLedger ledger;
  const RunResult result = run(model, ledger);
  ASSERT_EQ(result.attempts.size(), 4U);
  EXPECT_EQ(result.attempts[1].state, AttemptState::kNoReply);
  EXPECT_TRUE(result.champion);
}

TEST_F(FactoryTest, AModelThatCanNeverAnswerEndsTheRunAndLeavesTheAttemptOpen) {
  FakeModel model([](const ModelCall&) { return no_reply(ModelError::Kind::kAuthentication, false); });
  MemoryLedger ledger;
  const RunResult result = run(model, ledger);
  EXPECT_EQ(result.reason, StopReason::kModelFailed);
  FakeModel better(answers({right("NS=900"), right("NS=800"), right("NS=700"), right("NS=600")}));
  EXPECT_EQ(run(better, ledger).attempts.size(), 4U);
}

TEST_F(FactoryTest, ARigThatFailsEndsTheRunWithoutAVerdict) {
  FakeModel model(answers({right("LOSES_DEVICE"), right("NS=1")}));
  MemoryLedger ledger;
  const RunResult result = run(model, ledger);
  EXPECT_EQ(result.reason, StopReason::kRigFailed);
  EXPECT_EQ(attempts_of(ledger)[0].state, AttemptState::kOpen);
}

TEST_F(FactoryTest, WaitsForExchangeAfterTheWholeWindowWasAsked) {
  std::atomic<bool> there = false;
  const auto inner = answers({right("NS=900"), right("NS=800"), right("NS=700"), right("NS=600")});
  FakeModel model([&](const ModelCall& call) { return there ? inner(call) : no_reply(ModelError::Kind::kWaiting); });
  MemoryLedger ledger;
  EXPECT_EQ(run(model, ledger).reason, StopReason::kWaiting);
  EXPECT_EQ(model.asked().size(), 2U);  // the window
  EXPECT_EQ(run(model, ledger).reason, StopReason::kWaiting);
  there = true;
  const RunResult result = run(model, ledger);
  EXPECT_EQ(result.reason, StopReason::kBudget);
  EXPECT_EQ(result.attempts.size(), 4U);
}

TEST_F(FactoryTest, AStopLeavesEverythingReadyForAResume) {
  rig.before = [this](const Job&) { stop.request_stop(); };
  FakeModel model(answers({right("NS=900"), right("NS=800"), right("NS=700"), right("NS=600")}));
  MemoryLedger ledger;
  EXPECT_EQ(run(model, ledger).reason, StopReason::kInterrupted);
  rig.before = nullptr;
  stop = std::stop_source();
  FakeModel again(answers({right("NS=900"), right("NS=800"), right("NS=700"), right("NS=600")}));
  const RunResult result = run(again, ledger);
  EXPECT_EQ(result.reason, StopReason::kBudget);
  EXPECT_EQ(result.attempts.size(), 4U);
}

TEST_F(FactoryTest, NothingIsExecutedWithoutADevice) {
  with_device = false;
  FakeModel model(answers({right("NS=900"), right("DOES_NOT_COMPILE"), right("NS=700"), right("NS=600")}));
  MemoryLedger ledger;
  const RunResult result = run(model, ledger);
  EXPECT_EQ(result.attempts[0].state, AttemptState::kBuilt);
  EXPECT_EQ(result.attempts[1].state, AttemptState::kRejected);
  EXPECT_FALSE(result.champion);
  EXPECT_TRUE(rig.jobs().empty());
}

TEST_F(FactoryTest, ASecondEqualSourceIsNotEvaluatedAgain) {
  settings.search.in_flight = 1;
  settings.budget.attempts = 2;
  FakeModel model([](const ModelCall& call) {
    return call.role == Role::kLibrarian ? reply_with("{}") : reply_with(right("NS=900"));
  });
  MemoryLedger ledger;
  const RunResult result = run(model, ledger);
  EXPECT_EQ(result.attempts[1].verdict.reason, "duplicate");
}

TEST_F(FactoryTest, GoingOnWithAFinishedRunAsksNothing) {
  FakeModel model(answers({right("NS=900"), right("NS=800"), right("NS=700"), right("NS=600")}));
  MemoryLedger ledger;
  const RunResult first = run(model, ledger);
  FakeModel silent([](const ModelCall&) -> std::expected<Reply, ModelError> { throw Fatal("asked"); });
  const std::size_t jobs = rig.jobs().size();
  const RunResult second = run(silent, ledger);
  EXPECT_EQ(second.champion, first.champion);
  EXPECT_EQ(rig.jobs().size(), jobs);
}

TEST_F(FactoryTest, AHigherBudgetGoesOnWithTheNextOrdinal) {
  settings.budget.attempts = 2;
  settings.search.in_flight = 1;
  const std::vector<std::string> bodies{right("NS=900"), right("NS=800"), right("NS=700"), right("NS=600")};
  FakeModel model(answers(bodies));
  MemoryLedger ledger;
  run(model, ledger);
  settings.budget.attempts = 4;
  FakeModel more(answers(bodies));
  const RunResult result = run(more, ledger);
  EXPECT_EQ(result.attempts.size(), 4U);
  EXPECT_EQ(more.asked().front(), "writer 3");
}

TEST_F(FactoryTest, TheSecretStaysThatOfTheFirstStart) {
  FakeModel model(answers({right("NS=900"), right("NS=800"), right("NS=700"), right("NS=600")}));
  MemoryLedger ledger;
  run(model, ledger);
  settings.secret.bytes[3] = 99;
  run(model, ledger);
  EXPECT_EQ(read_start(ledger)->secret.bytes[3], 7);
}

TEST_F(FactoryTest, TheLedgerNamesTheSpecAndItsFiles) {
  FakeModel model(answers({right("NS=900"), right("NS=800"), right("NS=700"), right("NS=600")}));
  MemoryLedger ledger;
  run(model, ledger);
  const std::optional<RunStart> start = read_start(ledger);
  ASSERT_TRUE(start);
  EXPECT_EQ(start->spec_json, spec.json);
  EXPECT_EQ(start->spec_files.at("twice.ref.cu"), spec.reference.cuda.content);
  EXPECT_EQ(start->spec_files.at("twice.naive.cu"), spec.baselines[0].source.content);
}

TEST_F(FactoryTest, NeitherSecretNorHeldOutCasesReachAPrompt) {
  std::mutex mutex;
  std::string everything;
  const auto inner = answers({right("NS=900"), right("WRONG"), right("NS=700"), right("NS=600")});
  FakeModel model([&](const ModelCall& call) {
    const std::lock_guard lock(mutex);
    everything += call.system + call.prefix + call.prompt;
    return inner(call);
  });
  MemoryLedger ledger;
  run(model, ledger);
  EXPECT_EQ(everything.find("4099"), std::string::npos);
  EXPECT_EQ(everything.find("0000000700000000"), std::string::npos);
}

TEST_F(FactoryTest, TellsEventsOneAtATimeFromStartToStop) {
  FakeModel model(answers({right("NS=900"), right("WRONG"), right("NS=700"), right("NS=600")}));
  MemoryLedger ledger;
  run(model, ledger);
  ASSERT_FALSE(events.empty());
  EXPECT_EQ(events.front().kind, Event::Kind::kRunStarted);
  EXPECT_EQ(events.back().kind, Event::Kind::kRunStopped);
}

}  // namespace
}  // namespace kf
