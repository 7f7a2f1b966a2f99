// SPDX-License-Identifier: Apache-2.0
// Beside a GPU candidates are executed on the emulator first: what it refuses, what refuses nobody, on which cases.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <functional>
#include <thread>

#include <kfactory/device.h>

#include "factory/cases.h"
#include "factory/evaluation.h"
#include "factory/records.h"
#include "factory/spec_check.h"
#include "fakes.h"

namespace kf {
namespace {

using testing::Contains;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::StartsWith;

DeviceFacts emulated_facts() {
  DeviceFacts facts = named_target("H200").value();
  facts.kind = "emulator";
  return facts;
}

// Answers alike every job whose first build has `only_of` in its PTX, and passes the others.
class OneAnswer final : public Rig {
 public:
  DeviceFacts facts() const override { return emulated_facts(); }
  Outcome run(const Job& job, std::stop_token) override {
    jobs.push_back(job);
    if (meanwhile) {
      meanwhile();
    }
    return job.arms[0].builds[0].ptx.find(only_of) == std::string::npos ? CheckReport{} : answer;
  }
  Outcome answer = CheckReport{};
  std::string only_of;
  std::function<void()> meanwhile;
  std::vector<Job> jobs;
};

// Takes its time, and knows how many compilations there were at once.
class CountingCompiler final : public Compiler {
 public:
  std::expected<Build, BuildFailure> compile(const BuildRequest& request, std::stop_token stop) override {
    const int now = ++busy_;
    for (int before = most_; before < now && !most_.compare_exchange_weak(before, now);) {
    }
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
    auto build = compiler_.compile(request, stop);
    --busy_;
    return build;
  }
  std::string version() const override { return compiler_.version(); }
  int most() const { return most_; }

 private:
  FakeCompiler compiler_;
  std::atomic<int> busy_ = 0, most_ = 0;
};

Verdict refused(Gate gate, std::string reason, std::string message) {
  Verdict verdict;
  verdict.passed = false;
  verdict.gate = gate;
  verdict.reason = std::move(reason);
  verdict.message = std::move(message);
  verdict.case_id = "check/N=8";
  return verdict;
}

class OnTheEmulatorFirst : public testing::Test {
 protected:
  Evaluation evaluate_one(const std::string& tune = "") {
    JobBuilder jobs(factory_, 2);
    return evaluate_with(factory_, jobs, parse_candidate(candidate_source("NS=500", tune), "test").value(), settings_,
                         {});
  }
  void answers(DeviceFault::Kind kind, const std::string& message) {
    emulator_.answer = CheckReport{refused(Gate::kCheck, std::string(to_string(kind)), message), {}};
  }

  Spec spec_ = small_spec();
  FakeCompiler compiler_;
  FakeRig rig_{gpu_facts()};
  OneAnswer emulator_;
  HandClock clock_;
  Factory factory_ = [&] {
    Factory made = factory_of(spec_, compiler_, rig_, clock_);
    made.emulator = &emulator_;
    return made;
  }();
  EvaluationSettings settings_;
};

TEST_F(OnTheEmulatorFirst, WhatItRefusesNeverMeetsTheGpu) {
  answers(DeviceFault::Kind::kChecker, "the checker found a fault: race");
  const Evaluation evaluation = evaluate_one();
  EXPECT_EQ(evaluation.state, AttemptState::kRejected);
  EXPECT_EQ(evaluation.verdict.gate, Gate::kCheck);
  EXPECT_EQ(evaluation.verdict.reason, "checker");
  EXPECT_EQ(evaluation.verdict.message, "on the emulator, which goes first: the checker found a fault: race");
  EXPECT_THAT(rig_.jobs(), IsEmpty());
}

TEST_F(OnTheEmulatorFirst, WrongValuesAreRefusedToo) {
  emulator_.answer = CheckReport{refused(Gate::kRepeat, "mismatch", "row 3 is wrong"), {}};
  const Evaluation evaluation = evaluate_one();
  EXPECT_EQ(evaluation.verdict.gate, Gate::kRepeat);
  EXPECT_EQ(evaluation.verdict.reason, "mismatch");
  EXPECT_THAT(rig_.jobs(), IsEmpty());
}

TEST_F(OnTheEmulatorFirst, WhatItPassesIsJudgedByTheGpu) {
  const Evaluation evaluation = evaluate_one();
  EXPECT_EQ(evaluation.state, AttemptState::kMeasured);
  EXPECT_THAT(evaluation.notes, testing::Not(Contains(HasSubstr("emulator"))));
  EXPECT_NE(std::ranges::find(evaluation.costs, "emulator", &Cost::step), evaluation.costs.end());
  ASSERT_EQ(emulator_.jobs.size(), 1U);
  for (const Case& of : emulator_.jobs[0].cases) {
    EXPECT_LE(elements_of(of), 1 << 16) << of.id.value;
  }
  EXPECT_FALSE(rig_.jobs().empty());
}

TEST_F(OnTheEmulatorFirst, LimitsOfTheEmulatorRefuseNobody) {
  using Kind = DeviceFault::Kind;
  for (const Kind kind : {Kind::kUnsupported, Kind::kTimeout, Kind::kOutOfMemory, Kind::kLaunchRefused, Kind::kLost}) {
    answers(kind, "wgmma is not in the subset");
    const Evaluation evaluation = evaluate_one();
    EXPECT_EQ(evaluation.state, AttemptState::kMeasured) << to_string(kind);
    EXPECT_THAT(evaluation.notes, Contains("the emulator, which goes first, could not tell: check/N=8: wgmma is not in "
                                           "the subset"))
        << to_string(kind);
  }
}

TEST_F(OnTheEmulatorFirst, WhatSpinsThereHoldsUpNobodyForLong) {
  evaluate_one();
  settings_.confirm = true;
  evaluate_one();
  ASSERT_EQ(emulator_.jobs.size(), 2U);
  EXPECT_LE(emulator_.jobs[0].deadline, std::chrono::seconds(5));
  EXPECT_LE(emulator_.jobs[1].deadline, std::chrono::seconds(120));
}

TEST_F(OnTheEmulatorFirst, FaultsOfItsProcessRefuseNobody) {
  for (const Fault& fault : {Fault{Fault::Kind::kRig, "vanished", "the worker is gone"},
                             Fault{Fault::Kind::kCandidate, "crash", "signal 11 (Segmentation fault)"}}) {
    emulator_.answer = fault;
    const Evaluation evaluation = evaluate_one();
    EXPECT_EQ(evaluation.state, AttemptState::kMeasured) << fault.reason;
    EXPECT_THAT(evaluation.notes,
                Contains("the emulator, which goes first, could not tell: " + fault.reason + ": " + fault.what));
  }
  emulator_.answer = TimeReport{};
  EXPECT_THAT(evaluate_one().notes, Contains(HasSubstr("its worker gave another answer than a verdict")));
}

TEST_F(OnTheEmulatorFirst, ASpecWithoutSmallCasesGoesToTheGpuAtOnce) {
  std::erase_if(spec_.cases["check"], [](const Case& of) { return elements_of(of) <= 1 << 16; });
  const Evaluation evaluation = evaluate_one();
  EXPECT_EQ(evaluation.state, AttemptState::kMeasured);
  EXPECT_THAT(evaluation.notes, Contains(HasSubstr("no check case is small enough for it")));
  EXPECT_THAT(emulator_.jobs, IsEmpty());
}

TEST_F(OnTheEmulatorFirst, AConfirmationTakesAllSmallCasesAndSaysSo) {
  settings_.held_out = settings_.confirm = true;
  CheckReport report;
  report.verdict.checks = 12;
  emulator_.answer = report;
  const Evaluation evaluation = evaluate_one();
  ASSERT_EQ(emulator_.jobs.size(), 1U);
  std::size_t small = 0;
  for (const char* set : {"check", "held_out"}) {
    small += static_cast<std::size_t>(
        std::ranges::count_if(spec_.cases[set], [](const Case& of) { return elements_of(of) <= 1 << 16; }));
  }
  EXPECT_EQ(emulator_.jobs[0].cases.size(), small);
  EXPECT_THAT(evaluation.notes, Contains(StartsWith("the emulator found nothing in 12 launches of ")));
  ASSERT_TRUE(evaluation.score);
  EXPECT_THAT(evaluation.score->emulator, StartsWith("the emulator found nothing in 12 launches of "));
}

TEST_F(OnTheEmulatorFirst, ARunRecordsWhetherThereWasOne) {
  FakeModel model([](const ModelCall&) { return no_reply(ModelError::Kind::kNoReply); });
  factory_.writer = &model;
  for (const bool there : {true, false}) {
    factory_.emulator = there ? &emulator_ : nullptr;
    MemoryLedger ledger;
    write_start(ledger, factory_, {});
    EXPECT_THAT(ledger.read({0}, {0}).at(0).json,
                HasSubstr(there ? "\"emulator_first\":true" : "\"emulator_first\":false"));
    ASSERT_TRUE(read_start(ledger));
    EXPECT_EQ(read_start(ledger)->emulator_first, there);
  }
}

TEST_F(OnTheEmulatorFirst, AStopWhileItRunsLeavesTheAttemptOpen) {
  std::stop_source stop;
  emulator_.meanwhile = [&] { stop.request_stop(); };
  for (const Outcome& answer : {Outcome(Fault{Fault::Kind::kRig, "cancelled", "stopped"}),
                                Outcome(CheckReport{refused(Gate::kCheck, "checker", "race"), {}})}) {
    stop = std::stop_source();
    emulator_.answer = answer;
    JobBuilder jobs(factory_, 2);
    const Evaluation evaluation = evaluate_with(
        factory_, jobs, parse_candidate(candidate_source("NS=500"), "t").value(), settings_, stop.get_token());
    EXPECT_EQ(evaluation.state, AttemptState::kOpen);
    EXPECT_TRUE(evaluation.verdict.passed);
    EXPECT_THAT(evaluation.notes, IsEmpty());
    EXPECT_THAT(rig_.jobs(), IsEmpty());
  }
}

TEST_F(OnTheEmulatorFirst, ARefusedConfirmationIsOfThatGate) {
  settings_.held_out = settings_.confirm = true;
  evaluate_one();
  EXPECT_EQ(emulator_.jobs.at(0).kind, Job::Kind::kConfirm);
  settings_.held_out = settings_.confirm = false;
  evaluate_one();
  EXPECT_EQ(emulator_.jobs.at(1).kind, Job::Kind::kCheck);
}

TEST_F(OnTheEmulatorFirst, WhatItsTargetCannotRunIsSaid) {
  factory_.facts.sm_count = 10'000;  // more than the emulator's target has
  std::string source = candidate_source("NS=500");
  const std::string_view plan = "\"plan\": 1,";
  source.replace(source.find(plan), plan.size(), "\"plan\": 1, \"define\": {\"ROOM\": \"1 / (sm_count / 10000)\"},");
  JobBuilder jobs(factory_, 2);
  const Evaluation evaluation = evaluate_with(factory_, jobs, parse_candidate(source, "test").value(), settings_, {});
  EXPECT_EQ(evaluation.state, AttemptState::kMeasured) << evaluation.verdict.message;
  EXPECT_THAT(evaluation.notes, Contains(testing::AllOf(StartsWith("the emulator, which goes first, could not tell: "),
                                                        HasSubstr("plan: "), HasSubstr("ROOM"))));
  EXPECT_THAT(emulator_.jobs, IsEmpty());
}

TEST_F(OnTheEmulatorFirst, ItsCompilationsCountAmongThoseAtOnce) {
  CountingCompiler compiler;
  factory_.compiler = &compiler;
  JobBuilder jobs(factory_, 1);
  evaluate_with(factory_, jobs, parse_candidate(candidate_source("NS=500"), "test").value(), settings_, {});
  EXPECT_EQ(emulator_.jobs.size(), 1U);
  EXPECT_EQ(compiler.most(), 1);
}

TEST_F(OnTheEmulatorFirst, TunePointsThatItRefusesNeverMeetTheGpuInASweep) {
  answers(DeviceFault::Kind::kChecker, "race");
  emulator_.only_of = "-DFACTOR=1";
  const Evaluation evaluation = evaluate_one(R"("FACTOR": [1, 2, 3])");
  EXPECT_EQ(evaluation.state, AttemptState::kMeasured);
  EXPECT_EQ(evaluation.tune.at("FACTOR"), 2);
  EXPECT_THAT(evaluation.notes, Contains("refused FACTOR=1: checker"));
  for (const Job& job : rig_.jobs()) {
    for (const Arm& arm : job.arms) {
      for (const Build& build : arm.builds) {
        EXPECT_EQ(build.ptx.find("-DFACTOR=1"), build.ptx.npos);
      }
    }
  }
}

TEST_F(OnTheEmulatorFirst, ASweepOfWhatItRefusesEndsBeforeTheGpu) {
  answers(DeviceFault::Kind::kChecker, "race");
  const Evaluation evaluation = evaluate_one(R"("FACTOR": [1, 2])");
  EXPECT_EQ(evaluation.state, AttemptState::kRejected);
  EXPECT_EQ(evaluation.verdict.reason, "checker");
  EXPECT_THAT(rig_.jobs(), IsEmpty());
}

TEST_F(OnTheEmulatorFirst, WhoAsksForEveryGateHearsTheGpuToo) {
  settings_.keep_going = true;
  answers(DeviceFault::Kind::kChecker, "race");
  const Evaluation evaluation = evaluate_one();
  EXPECT_EQ(evaluation.verdict.reason, "checker");
  EXPECT_FALSE(rig_.jobs().empty());
}

TEST_F(OnTheEmulatorFirst, EachWordOfTheChecksSaysWhoseItIs) {
  settings_.keep_going = true;
  answers(DeviceFault::Kind::kChecker, "race");
  std::vector<Launches> words;
  for (const Verdict& step : evaluate_one().steps) {
    if (step.gate >= Gate::kCheck && step.gate <= Gate::kPerturbation) {
      words.push_back(step.of);
    } else {
      EXPECT_EQ(step.of, Launches::kNone) << to_string(step.gate);
    }
  }
  EXPECT_THAT(words, testing::ElementsAre(Launches::kEmulatorFirst, Launches::kFewCases, Launches::kTheRest));
}

TEST_F(OnTheEmulatorFirst, ABaselineThatItRefusesIsNotAdmitted) {
  const auto row = [&] {
    const SpecCheck check = check_spec(factory_, 2, {});
    EXPECT_TRUE(check.admission.report) << check.admission.why_not;
    EXPECT_EQ(check.admission.report->admitted, check.admission.report->rows.back().ok);
    return check.admission.report->rows.back();
  };
  EXPECT_EQ(row().name, "baseline naive on the emulator");
  EXPECT_TRUE(row().ok);
  answers(DeviceFault::Kind::kUnsupported, "wgmma is not in the subset");
  EXPECT_TRUE(row().ok);
  answers(DeviceFault::Kind::kChecker, "race");
  EXPECT_FALSE(row().ok);
  EXPECT_THAT(row().found, HasSubstr("race; candidates run there before they meet the GPU"));
}

TEST_F(OnTheEmulatorFirst, AScreeningTakesTwoCasesOfEachChoiceOfTypesSixAtMost) {
  const std::vector<Case> cases = cases_for_emulator_first(spec_, settings_);
  ASSERT_FALSE(cases.empty());
  EXPECT_LE(cases.size(), 6U);
  std::map<Map<Dtype>, int> of_type;
  for (const Case& of : cases) {
    EXPECT_LE(++of_type[of.types], 2);
  }
}

}  // namespace
}  // namespace kf
