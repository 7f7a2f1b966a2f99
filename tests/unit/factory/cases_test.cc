// SPDX-License-Identifier: Apache-2.0
#include "factory/cases.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "factory/parallel.h"
#include "fakes.h"

namespace kf {
namespace {

std::vector<std::int64_t> sizes(const std::vector<Case>& cases) {
  std::vector<std::int64_t> sizes;
  for (const Case& of : cases) {
    sizes.push_back(of.axes.at("N"));
  }
  return sizes;
}

TEST(ChooseCases, ProbesWithASmallCaseThatIsLargeEnoughToTell) {
  const ChosenCases chosen = choose_cases(small_spec(), gpu_facts(), {});
  EXPECT_EQ(sizes(chosen.probe), std::vector<std::int64_t>{5000});
  EXPECT_EQ(sizes(chosen.check), (std::vector<std::int64_t>{8, 60000, 1100000}));
  EXPECT_EQ(chosen.time.size(), 3U);
}

TEST(ChooseCases, SaysWhatTheEmulatorLeavesOut) {
  DeviceFacts facts = gpu_facts();
  facts.kind = "emulator";
  const ChosenCases chosen = choose_cases(small_spec(), facts, {});
  EXPECT_EQ(sizes(chosen.check), (std::vector<std::int64_t>{8, 60000}));
  EXPECT_EQ(sizes(chosen.time), std::vector<std::int64_t>{1024});
  ASSERT_EQ(chosen.notes.size(), 1U);
  EXPECT_EQ(
      chosen.notes[0],
      "cases to check: 3 of 4 check cases (the others were left out: cases of more than 2^21 elements need a GPU)");
}

TEST(ChooseCases, CountsHeldOutCasesThatTheEmulatorLeavesOutAsLeftOut) {
  DeviceFacts facts = gpu_facts();
  facts.kind = "emulator";
  Spec spec = small_spec();
  EvaluationSettings settings;
  settings.confirm = settings.held_out = true;
  spec.cases.at("held_out").assign(2, spec.cases.at("check").back());  // the largest
  spec.cases.at("held_out").front().id.value = "held_out/large";
  const auto held_out = [&](const ChosenCases& chosen) {
    const auto found = std::ranges::find(chosen.checked, "held_out", &CheckedSet::set);
    return found == chosen.checked.end() ? CheckedSet{} : *found;
  };
  const CheckedSet none = held_out(choose_cases(spec, facts, settings));
  EXPECT_EQ(none.checked, 0);
  EXPECT_EQ(none.left_out, 2);
  EXPECT_NE(none.why.find("need a GPU"), std::string::npos);
  const CheckedSet all = held_out(choose_cases(spec, gpu_facts(), settings));
  EXPECT_EQ(all, (CheckedSet{"held_out", 2, 0, ""}));
}

TEST(ChooseCases, AddsHeldOutAndTimedCasesToAConfirmation) {
  EvaluationSettings settings;
  settings.confirm = settings.held_out = true;
  const ChosenCases chosen = choose_cases(small_spec(), gpu_facts(), settings);
  std::map<std::string, std::size_t> sets;
  for (const auto* list : {&chosen.probe, &chosen.check}) {
    for (const Case& of : *list) {
      ++sets[of.set];
    }
  }
  EXPECT_EQ(sets["check"] + sets["time"], 7U);
  EXPECT_EQ(sets["held_out"], 1U + 12U + 16U);  // its own, neighbours, and sizes drawn
  EXPECT_EQ(to_string(chosen.checked),
            "4 check cases, 1 held-out cases, 28 generated cases, 3 timed "
            "cases");
}

TEST(ChooseCases, WithoutEmulateCasesAnEmulatorTakesTheTimedOnesThatAreSmallEnough) {
  DeviceFacts emulated = gpu_facts();
  emulated.kind = "emulator";
  Spec spec = small_spec();
  spec.cases.erase("emulate");
  const ChosenCases some = choose_cases(spec, emulated, {});
  EXPECT_EQ(sizes(some.time), std::vector<std::int64_t>{1048576});  // two tensors of 2^20
  spec.cases["time"].erase(spec.cases["time"].begin());
  const ChosenCases none = choose_cases(spec, emulated, {});
  EXPECT_TRUE(none.time.empty());
  EXPECT_TRUE(std::ranges::any_of(none.notes,
                                  [](const std::string& note) { return note.starts_with("nothing is estimated: "); }));
}

TEST(ChooseCases, NamesACaseThatIsNotThere) {
  EvaluationSettings settings;
  settings.time_cases = {"time/99"};
  EXPECT_THROW(choose_cases(small_spec(), gpu_facts(), settings), Fatal);
}

TEST(ScreeningCases, SpanTheSizes) {
  const Spec spec = small_spec();
  const std::vector<std::string> two = screening_cases(spec, gpu_facts(), 2);
  ASSERT_EQ(two.size(), 2U);
  EXPECT_EQ(two[0], spec.cases.at("time")[0].id.value);
  EXPECT_EQ(two[1], spec.cases.at("time")[2].id.value);
  EXPECT_EQ(screening_cases(spec, gpu_facts(), 1)[0], spec.cases.at("time")[1].id.value);
}

TEST(ScreeningCases, AreNeverMoreThanThereAreAndNeverTwice) {
  const std::vector<std::string> all = screening_cases(small_spec(), gpu_facts(), 50);
  EXPECT_EQ(std::set<std::string>(all.begin(), all.end()).size(), 3U);
  EXPECT_EQ(all.size(), 3U);
}

TEST(CheckPoints, TryEveryFamilyAndShiftEveryOther) {
  const Spec spec = small_spec();
  const std::vector<CheckPoint> points = check_points(spec, {spec.cases.at("check")[0]}, true, Purpose::kCheck, {});
  ASSERT_EQ(points.size(), 2U);
  EXPECT_EQ(points[0].family, "normal");
  EXPECT_EQ(points[1].family, "large");
  EXPECT_EQ(points[0].misalign, 0);
  EXPECT_EQ(points[1].misalign, 16);
}

TEST(CheckPoints, DependOnTheSecretAndThePurpose) {
  const Spec spec = small_spec();
  EvaluationSettings settings;
  const auto seeds = [&](Purpose purpose) {
    return check_points(spec, {spec.cases.at("check")[0]}, false, purpose, settings)[0].seeds;
  };
  const auto before = seeds(Purpose::kCheck);
  EXPECT_EQ(before, seeds(Purpose::kCheck));
  EXPECT_NE(before, seeds(Purpose::kConfirm));
  settings.secret.bytes[0] = 1;
  EXPECT_NE(before, seeds(Purpose::kCheck));
}

TEST(ForEachIndex, CallsEachOnceOnSeveralThreads) {
  std::vector<std::atomic<int>> calls(100);
  for_each_index(calls.size(), 4, [&](std::size_t i) { ++calls[i]; });
  for (const auto& count : calls) {
    EXPECT_EQ(count, 1);
  }
}

TEST(ForEachIndex, ThrowsTheFirstExceptionAgainAfterAllThreadsEnded) {
  std::atomic<int> calls = 0;
  EXPECT_THROW(for_each_index(1000, 3,
                              [&](std::size_t) {
                                ++calls;
                                throw Fatal("x");
                              }),
               Fatal);
  EXPECT_LE(calls, 3);
}

}  // namespace
}  // namespace kf
