// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <functional>
#include <map>

#include <algorithm>

#include "gates/gates.h"
#include "tests/fakes/toy_operation.h"

namespace kf {
namespace {

using fakes::HostDeviceOptions;
using fakes::toy_case;
using fakes::toy_check;
using testing::HasSubstr;

const PhaseObserver kNobody = [](Phase) {};

std::expected<CheckReport, Fault> check(const Job& job, HostDeviceOptions options = fakes::toy_device()) {
  const auto device = make_host_device(std::move(options));
  return run_check(*device, job, kNobody);
}
Verdict verdict_of(const Job& job, HostDeviceOptions options = fakes::toy_device()) {
  auto report = check(job, std::move(options));
  EXPECT_TRUE(report.has_value()) << report.error().what;
  return report ? report->verdict : Verdict{};
}
Verdict verdict_of(const std::string& entry) {
  return verdict_of(toy_check(entry, {toy_case(7, 16, 20)}));
}

TEST(Check, PassesAKernelThatIsRight) {
  const Verdict verdict = verdict_of("good");
  EXPECT_TRUE(verdict.passed) << verdict.message;
  EXPECT_EQ(verdict.gate, Gate::kPerturbation);
  EXPECT_EQ(verdict.checks, 7);  // one check, five launches of the repeat gate, a disturbed one
}

TEST(Check, PassesTheOtherWayOfRoundingToo) {
  HostDeviceOptions options = fakes::toy_device();
  options.kernels["unfused"] = [](const fakes::HostLaunch& launch) -> OrFault<void> {
    const auto *x = launch.pointer<const float>(0), *w = launch.pointer<const float>(1);
    auto* y = launch.pointer<float>(2);
    const int m = launch.scalar<int>(4), n = launch.scalar<int>(5), ldx = launch.scalar<int>(6);
    for (int i = 0; i < m * n; ++i) {
      volatile float product = launch.scalar<float>(3) * x[i / n * ldx + i % n];
      y[i / n * ldx + i % n] = product + w[i % n];
    }
    return {};
  };
  EXPECT_TRUE(verdict_of(toy_check("unfused", {toy_case(7, 16, 20)}), options).passed);
}

// Remembers the first input of each launch, and gets its last one wrong.
struct Counted {
  std::vector<float> first_inputs;
  std::size_t wrong_at = 0;  // 0: never
};
HostDeviceOptions counting(Counted& counted) {
  HostDeviceOptions options = fakes::toy_device();
  options.kernels["counted"] = [&counted, good = options.kernels.at("good")](const fakes::HostLaunch& launch) {
    counted.first_inputs.push_back(launch.pointer<const float>(0)[0]);
    OrFault<void> done = good(launch);
    launch.pointer<float>(2)[0] += counted.first_inputs.size() == counted.wrong_at ? 1.0F : 0.0F;
    return done;
  };
  return options;
}

TEST(Check, MakesEachPassWithSeedsOfItsOwn) {
  Counted counted;
  Job job = toy_check("counted", {toy_case(7, 16, 20)});
  job.passes = 3;
  const auto report = check(job, counting(counted));
  ASSERT_TRUE(report);
  EXPECT_TRUE(report->verdict.passed) << report->verdict.message;
  EXPECT_EQ(report->passes, 3);
  EXPECT_EQ(report->verdict.checks, 21);
  ASSERT_EQ(counted.first_inputs.size(), 21U);
  EXPECT_NE(counted.first_inputs[0], counted.first_inputs[7]);
  EXPECT_NE(counted.first_inputs[7], counted.first_inputs[14]);
}

TEST(Check, EndsWithThePassThatIsRefused) {
  Counted counted;
  counted.wrong_at = 9;  // the second launch of the second pass
  Job job = toy_check("counted", {toy_case(7, 16, 20)});
  job.passes = 3;
  const auto report = check(job, counting(counted));
  ASSERT_TRUE(report);
  EXPECT_EQ(report->passes, 1);
  EXPECT_EQ(report->verdict.reason, "mismatch");
  EXPECT_THAT(report->verdict.message, HasSubstr("pass 2 of 3: "));
  EXPECT_EQ(counted.first_inputs.size(), 9U);
}

struct Refusal {
  const char *entry, *reason, *words;
};
class CheckRefuses : public testing::TestWithParam<Refusal> {};
TEST_P(CheckRefuses, WhatIsWrongForTheRightReason) {
  const Verdict verdict = verdict_of(GetParam().entry);
  EXPECT_FALSE(verdict.passed);
  EXPECT_EQ(verdict.reason, GetParam().reason) << verdict.message;
  EXPECT_THAT(verdict.message, HasSubstr(GetParam().words));
  EXPECT_THAT(verdict.case_id, HasSubstr("M=7"));
  EXPECT_EQ(verdict.family, "normal");
}
INSTANTIATE_TEST_SUITE_P(
    Kinds, CheckRefuses,
    testing::Values(
        Refusal{"nothing", "unwritten", "no element was written"},
        Refusal{"odd_elements", "unwritten", "8 columns between 0 and 14 of 16"},
        Refusal{"half_rows", "unwritten", "the second half of each row is not covered"},
        Refusal{"ignores_w", "mismatch", "no element is right"}, Refusal{"copies_x", "mismatch", "reference"},
        Refusal{"nan", "mismatch", "NaN or Inf"}, Refusal{"low_precision", "mismatch", "times too far"},
        Refusal{"past_the_end", "red_zone", "outside y"}, Refusal{"before_the_start", "red_zone", "outside y"},
        Refusal{"into_padding", "padding_changed", "between the rows of y"},
        Refusal{"changes_x", "input_changed", "input x"}, Refusal{"illegal", "illegal_access", "toy kernel"},
        Refusal{"refused", "launch_refused", "toy kernel"},
        Refusal{"no_such_kernel", "launch_refused", "no_such_kernel"},
        Refusal{"remembers", "mismatch", "no element is right"}),
    [](const auto& test) { return std::string(test.param.entry); });

TEST(Check, NamesTheTailThatIsMissing) {
  const Verdict verdict = verdict_of(toy_check("no_tail", {toy_case(4, 21)}));
  EXPECT_EQ(verdict.reason, "unwritten");
  EXPECT_THAT(verdict.message, HasSubstr("the tail after the last full tile of 16 columns"));
  ASSERT_TRUE(verdict.mismatch);
  EXPECT_EQ(verdict.mismatch->wrong, 4 * 5);
  EXPECT_THAT(verdict.mismatch->first_index, testing::ElementsAre(0, 16));
  EXPECT_THAT(verdict.mismatch->last_index, testing::ElementsAre(3, 20));
}

TEST(Check, CountsRowsOverAllSlicesOfTheReference) {
  const Verdict verdict = verdict_of(toy_check("half_rows", {toy_case(8, 16)}));  // slices of 3, 3 and 2 rows
  ASSERT_TRUE(verdict.mismatch);
  EXPECT_EQ(verdict.mismatch->rows, 8);
  EXPECT_EQ(verdict.mismatch->wrong_rows, 8);
  EXPECT_EQ(verdict.mismatch->elements, 8 * 16);
  EXPECT_EQ(verdict.mismatch->wrong, 8 * 8);
  EXPECT_EQ(verdict.mismatch->unwritten, 8 * 8);
  EXPECT_EQ(verdict.mismatch->wrong_columns, 8);
}

TEST(Check, CatchesAKernelThatIsHonestForItsFirstLaunches) {
  std::vector<Case> cases;
  for (int m = 1; m <= 8; ++m) {
    cases.push_back(toy_case(m, 8));
  }
  const Verdict verdict = verdict_of(toy_check("counts_launches", cases));
  EXPECT_EQ(verdict.reason, "mismatch");
  EXPECT_THAT(verdict.case_id, HasSubstr("M=7"));
}

TEST(Check, MovesSomeBaseAddressesOfALaunchAndLeavesOthers) {
  Job job = toy_check("good", {toy_case(3, 8)});
  job.checks[0].misalign = 16;
  for (std::uint64_t seed = 1; seed < 30; ++seed) {
    job.checks.push_back(job.checks[0]);
    job.checks.back().seeds = {seed, 1000 + seed};
  }
  HostDeviceOptions options = fakes::toy_device();
  std::map<std::vector<std::uintptr_t>, int> seen;  // of x, w and y
  options.kernels["good"] = [&, good = options.kernels["good"]](const fakes::HostLaunch& launch) {
    std::vector<std::uintptr_t> modulo;
    for (int i = 0; i < 3; ++i) {
      modulo.push_back(reinterpret_cast<std::uintptr_t>(launch.pointers[static_cast<std::size_t>(i)]) % 256);
    }
    ++seen[modulo];
    return good(launch);
  };
  EXPECT_TRUE(verdict_of(job, options).passed);
  EXPECT_GE(seen.size(), 5U);
  for (const auto& [modulo, count] : seen) {
    EXPECT_THAT(modulo, testing::Each(testing::AnyOf(0U, 16U)));
    EXPECT_THAT(modulo, testing::Contains(16U));
  }
}

TEST(Check, TakesEmptyCasesWithoutAKernel) {
  EXPECT_TRUE(verdict_of(toy_check("good", {toy_case(0, 16), toy_case(5, 0), toy_case(0, 0)})).passed);
}

TEST(Check, GivesEveryLaunchContentsOfItsOwn) {
  HostDeviceOptions options = fakes::toy_device();
  std::vector<float> seen;
  options.kernels["good"] = [&, good = options.kernels["good"]](const fakes::HostLaunch& launch) {
    seen.push_back(launch.pointer<const float>(0)[0]);
    return good(launch);
  };
  Job job = toy_check("good", {toy_case(3, 8), toy_case(3, 8)});
  job.checks[1].seeds = {12, 23};
  EXPECT_TRUE(verdict_of(job, options).passed);
  ASSERT_EQ(seen.size(), 2U + 2 * 5U + 2U);  // checks, repeats, disturbed
  EXPECT_NE(seen[0], seen[1]);
  EXPECT_EQ(seen[2], seen[3]);  // the repeat gate's A A B A A
  EXPECT_NE(seen[3], seen[4]);
  EXPECT_EQ(seen[2], seen[6]);
  EXPECT_NE(seen[0], seen[2]);
}

TEST(Check, PoisonsOutputsDifferentlyBeforeEachLaunch) {
  HostDeviceOptions options = fakes::toy_device();
  std::vector<std::uint32_t> found;
  options.kernels["good"] = [&, good = options.kernels["good"]](const fakes::HostLaunch& launch) {
    found.push_back(launch.pointer<std::uint32_t>(2)[0]);
    EXPECT_TRUE(std::isnan(launch.pointer<float>(2)[0]));
    return good(launch);
  };
  EXPECT_TRUE(verdict_of(toy_check("good", {toy_case(3, 8)}), options).passed);
  std::ranges::sort(found);
  EXPECT_EQ(std::ranges::adjacent_find(found), found.end());
}

// The rule of DESIGN's section on gates: while a launch runs, no buffer holds an answer to its contents.
TEST(Check, HasNoAnswerInMemoryWhileALaunchRuns) {
  HostDeviceOptions options = fakes::toy_device();
  std::vector<std::string> verbs;
  options.inject = [&](std::string_view verb) -> std::optional<DeviceFault> {
    verbs.emplace_back(verb);
    return std::nullopt;
  };
  Job job = toy_check("good", {toy_case(2, 4)});
  EXPECT_TRUE(verdict_of(job, options).passed);
  // run (candidate), run (reference), compare, poison of the reference, ..., poison of outputs before the next fill.
  const auto first_compare = std::ranges::find(verbs, "compare");
  const auto next_fill = std::find(first_compare, verbs.end(), "fill");
  EXPECT_GE(std::count(first_compare, next_fill, "poison"), 3);
  EXPECT_EQ(std::count(verbs.begin(), first_compare, "run"), 2);
}

TEST(Check, ScrubsSharedMemoryBeforeEachLaunch) {
  HostDeviceOptions options = fakes::toy_device();
  int scrubs = 0;
  options.inject = [&](std::string_view verb) -> std::optional<DeviceFault> {
    scrubs += verb == "scrub_shared" ? 1 : 0;
    return std::nullopt;
  };
  EXPECT_TRUE(verdict_of(toy_check("good", {toy_case(2, 4)}), options).passed);
  EXPECT_EQ(scrubs, 7);
}

TEST(Check, TellsWhenTheCandidateMayBeRunning) {
  std::vector<Phase> phases;
  const auto device = make_host_device(fakes::toy_device());
  ASSERT_TRUE(run_check(*device, toy_check("good", {toy_case(2, 4)}), [&](Phase phase) { phases.push_back(phase); }));
  ASSERT_EQ(phases.size(), 14U);
  for (std::size_t i = 0; i < phases.size(); ++i) {
    EXPECT_EQ(phases[i], i % 2 == 0 ? Phase::kCandidate : Phase::kRig);
  }
}

TEST(Check, AcceptsOtherBitsWithinToleranceUnlessDeterminismIsPromised) {
  Job job = toy_check("differs_in_bits", {toy_case(3, 8)});
  EXPECT_TRUE(verdict_of(job).passed);
  job.deterministic = true;
  const Verdict verdict = verdict_of(job);
  EXPECT_EQ(verdict.reason, "not_repeatable");
  EXPECT_EQ(verdict.gate, Gate::kRepeat);
}

TEST(Check, PassesADeterministicKernelWhereThatIsPromised) {
  Job job = toy_check("good", {toy_case(3, 8, 11)});
  job.deterministic = true;
  EXPECT_TRUE(verdict_of(job).passed);
}

TEST(Check, ReloadsTheModuleInTheRepeatGate) {
  HostDeviceOptions options = fakes::toy_device();
  int loads = 0;
  options.on_load = [&] { ++loads; };
  EXPECT_TRUE(verdict_of(toy_check("good", {toy_case(3, 8)}), options).passed);
  EXPECT_EQ(loads, 3);  // candidate, reference, candidate again
}

TEST(Check, StopsAtTheFirstFailure) {
  Job job = toy_check("nothing", {toy_case(3, 8), toy_case(4, 8)});
  const auto report = check(job);
  ASSERT_TRUE(report);
  EXPECT_THAT(report->verdict.case_id, HasSubstr("M=3"));
  EXPECT_TRUE(report->all.empty());
}

TEST(Check, GoesOnAfterAFailureWhenAsked) {
  Job job = toy_check("half_rows", {toy_case(3, 8), toy_case(4, 8)});
  job.keep_going = true;
  const auto report = check(job);
  ASSERT_TRUE(report);
  EXPECT_THAT(report->verdict.case_id, HasSubstr("M=3"));
  ASSERT_EQ(report->all.size(), 6U);  // two checks, two repeats, two disturbed
  for (const Verdict& verdict : report->all) {
    EXPECT_EQ(verdict.reason, "unwritten");
  }
}

TEST(Check, DoesNotUseADeadDeviceEvenWhenAskedToGoOn) {
  Job job = toy_check("illegal", {toy_case(3, 8), toy_case(4, 8)});
  job.keep_going = true;
  HostDeviceOptions options = fakes::toy_device();
  bool dead = false;
  int verbs_after = 0;
  options.kernels["illegal"] = [&](const fakes::HostLaunch&) -> OrFault<void> {
    dead = true;
    return std::unexpected(DeviceFault{DeviceFault::Kind::kIllegalAccess, ""});
  };
  options.inject = [&](std::string_view) -> std::optional<DeviceFault> {
    verbs_after += dead ? 1 : 0;
    return std::nullopt;
  };
  const auto report = check(job, options);
  ASSERT_TRUE(report);
  EXPECT_EQ(report->all.size(), 1U);
  EXPECT_EQ(verbs_after, 0);
}

TEST(Check, CallsItsGateConfirmInAConfirmJob) {
  Job job = toy_check("good", {toy_case(3, 8)});
  job.kind = Job::Kind::kConfirm;
  EXPECT_EQ(verdict_of(job).gate, Gate::kConfirm);
  job.arms = {fakes::toy_arm("candidate", "nothing", job.cases)};
  EXPECT_EQ(verdict_of(job).gate, Gate::kConfirm);
}

Job with_workspace(const std::string& entry, WorkspaceInit init) {
  Job job = toy_check(entry, {toy_case(3, 8)});
  job.arms = {fakes::toy_arm("candidate", entry, job.cases, {{"flags", 64, init}})};
  return job;
}

TEST(Workspaces, MustBeZeroAgainWhereThatIsPromised) {
  const Verdict verdict = verdict_of(with_workspace("uses_workspace", WorkspaceInit::kZeroRestored));
  EXPECT_EQ(verdict.reason, "workspace_not_restored");
  EXPECT_THAT(verdict.message, HasSubstr("flags"));
  EXPECT_TRUE(verdict_of(with_workspace("restores_workspace", WorkspaceInit::kZeroRestored)).passed);
}

TEST(Workspaces, MayBeLeftDirtyOtherwise) {
  EXPECT_TRUE(verdict_of(with_workspace("uses_workspace", WorkspaceInit::kPoison)).passed);
  EXPECT_TRUE(verdict_of(with_workspace("uses_workspace", WorkspaceInit::kZero)).passed);
}

TEST(Workspaces, HoldPoisonUnlessZeroIsAskedFor) {
  EXPECT_TRUE(verdict_of(with_workspace("needs_zero", WorkspaceInit::kZero)).passed);
  EXPECT_EQ(verdict_of(with_workspace("needs_zero", WorkspaceInit::kPoison)).reason, "mismatch");
}

TEST(Workspaces, HaveRedZones) {
  HostDeviceOptions options = fakes::toy_device();
  options.kernels["past_workspace"] = [good = options.kernels["good"]](const fakes::HostLaunch& launch) {
    launch.pointer<std::byte>(7)[64] = std::byte{1};
    return good(launch);
  };
  const Verdict verdict = verdict_of(with_workspace("past_workspace", WorkspaceInit::kPoison), options);
  EXPECT_EQ(verdict.reason, "red_zone");
  EXPECT_THAT(verdict.message, HasSubstr("workspace flags"));
}

TEST(Families, HoldForTheInputsThatListThem) {
  HostDeviceOptions options = fakes::toy_device();
  std::vector<float> w;
  options.kernels["good"] = [&, good = options.kernels["good"]](const fakes::HostLaunch& launch) {
    w.assign(launch.pointer<const float>(1), launch.pointer<const float>(1) + 8);
    EXPECT_EQ(launch.pointer<const float>(0)[0], 0.0F);
    return good(launch);
  };
  Job job = toy_check("good", {toy_case(3, 8)});
  job.families = {{"x", {"normal", "zero"}}, {"w", {"integers"}}};
  job.checks[0].family = "zero";
  EXPECT_TRUE(verdict_of(job, options).passed);
  for (const float value : w) {
    EXPECT_EQ(value, std::nearbyint(value));
  }
}

class RigFaults : public testing::TestWithParam<const char*> {};
TEST_P(RigFaults, OfOurOwnVerbsAreNeverVerdicts) {
  HostDeviceOptions options = fakes::toy_device();
  options.inject = [](std::string_view verb) -> std::optional<DeviceFault> {
    return verb == GetParam() ? std::optional(DeviceFault{DeviceFault::Kind::kLost, "gone"}) : std::nullopt;
  };
  Job job = with_workspace("uses_workspace", WorkspaceInit::kZero);
  job.arms[0].plans[0].workspaces[0].init =
      std::string(GetParam()) == "nonzero_bytes" ? WorkspaceInit::kZeroRestored : WorkspaceInit::kZero;
  const auto report = check(job, options);
  ASSERT_FALSE(report);
  EXPECT_EQ(report.error().kind, Fault::Kind::kRig);
  EXPECT_EQ(report.error().reason, "lost");
  EXPECT_THAT(report.error().what, HasSubstr("gone"));
}
INSTANTIATE_TEST_SUITE_P(Verbs, RigFaults,
                         testing::Values("allocate", "poison", "zero", "fill", "digest", "red_zone_damage",
                                         "padding_damage", "nonzero_bytes", "compare", "scrub_shared"),
                         [](const auto& test) { return std::string(test.param); });

TEST(Check, BlamesTheRigForAFaultyReference) {
  HostDeviceOptions options = fakes::toy_device();
  options.kernels["reference"] = options.kernels["illegal"];
  const auto report = check(toy_check("good", {toy_case(3, 8)}), options);
  ASSERT_FALSE(report);
  EXPECT_EQ(report.error().kind, Fault::Kind::kRig);
  EXPECT_THAT(report.error().what, HasSubstr("reference"));
}

TEST(Check, BlamesTheRigForAJobThatMakesNoSense) {
  Job job = toy_check("good", {toy_case(3, 8)});
  job.checks[0].case_index = 5;
  EXPECT_EQ(check(job).error().reason, "garbage");
  job = toy_check("good", {toy_case(3, 8)});
  job.arms.clear();
  EXPECT_EQ(check(job).error().reason, "garbage");
  job = toy_check("good", {toy_case(3, 8)});
  job.reference.plans.clear();
  EXPECT_EQ(check(job).error().reason, "garbage");
  job = toy_check("good", {toy_case(3, 8)});
  job.reference.plans[0].slice_case.tensors[2].name = "z";
  EXPECT_THAT(check(job).error().what, HasSubstr("does not compute output y"));
}

TEST(Check, ReleasesEveryBuffer) {
  const auto device = make_host_device(fakes::toy_device());
  const std::int64_t before = device->free_bytes();
  ASSERT_TRUE(run_check(*device, toy_check("good", {toy_case(9, 33, 40)}), kNobody));
  EXPECT_EQ(device->free_bytes(), before);
}

TEST(Check, ReferenceReadsWhatAnInoutTensorHeldBefore) {
  Case of = toy_case(5, 8);
  of.tensors[2].role = TensorRole::kInout;  // y = a * x + w + (y before)
  HostDeviceOptions options = fakes::toy_device();
  options.kernels["accumulates"] = [](const fakes::HostLaunch& launch) -> OrFault<void> {
    auto* y = launch.pointer<float>(2);
    for (int i = 0; i < 40; ++i) {
      y[i] += launch.scalar<float>(3) * launch.pointer<const float>(0)[i] + launch.pointer<const float>(1)[i % 8];
    }
    return {};
  };
  options.kernels["reference"] = [](const fakes::HostLaunch& launch) -> OrFault<void> {
    const int m = launch.scalar<int>(6);
    for (int i = 0; i < m * 8; ++i) {
      const double product = static_cast<double>(launch.scalar<float>(5)) * launch.pointer<const float>(0)[i];
      const double w = launch.pointer<const float>(1)[i % 8], before = launch.pointer<const float>(2)[i];
      launch.pointer<double>(3)[i] = product + w + before;
      launch.pointer<double>(4)[i] = std::abs(product) + std::abs(w) + std::abs(before);
    }
    return {};
  };
  Job job = toy_check("accumulates", {of});
  for (Case* slice : {&job.reference.plans[0].slice_case, &*job.reference.plans[0].tail_case}) {
    Tensor before = slice->tensors[0];
    before.name = "y__in";
    slice->tensors.insert(slice->tensors.begin() + 2, before);
  }
  for (ResolvedPlan* plan : {&job.reference.plans[0].plan, &*job.reference.plans[0].tail_plan}) {
    Arg fifth = plan->launches[0].args[3];
    fifth.index = 4;
    plan->launches[0].args.insert(plan->launches[0].args.begin() + 4, fifth);
  }
  const Verdict verdict = verdict_of(job, options);
  EXPECT_TRUE(verdict.passed) << verdict.message;
}

// ---- exact probes ------------------------------------------------------------------------------------

TEST(ExactProbe, RefusesWhatTheBoundAllowsWhereIntegersMakeEveryStepExact) {
  fakes::HostDeviceOptions options = fakes::toy_device();
  options.kernels["one_ulp"] = [right = options.kernels.at("good")](const fakes::HostLaunch& launch) {
    OrFault<void> done = right(launch);
    for (int i = 0; i < launch.scalar<int>(4) * launch.scalar<int>(5); ++i) {
      float& value = launch.pointer<float>(2)[i];
      value = std::nextafter(value, 1e30F);
    }
    return done;
  };
  Job job = fakes::toy_check("one_ulp", {fakes::toy_case(5, 16)});
  job.bounds["y"] = {.ulp = 1, .acc = 2, .condition = "y__cond"};
  job.checks[0].family = "integers";
  const auto verdict_of = [&](const Job& checked) {
    const auto device = make_host_device(options);
    const auto report = run_check(*device, checked, [](Phase) {});
    return report ? report->verdict : Verdict{};
  };
  EXPECT_TRUE(verdict_of(job).passed);
  job.bounds["y"].exact = {"integers"};
  const Verdict refused = verdict_of(job);
  EXPECT_FALSE(refused.passed);
  EXPECT_EQ(refused.reason, "inexact");
  EXPECT_NE(refused.message.find("rounded once"), std::string::npos);
  job.arms = {fakes::toy_arm("candidate", "good", job.cases)};
  EXPECT_TRUE(verdict_of(job).passed);
}

TEST(ExactProbe, IsAMismatchWhereTheBoundIsBrokenToo) {
  Job job = fakes::toy_check("low_precision", {fakes::toy_case(5, 16)});
  job.bounds["y"] = {.ulp = 1, .acc = 2, .condition = "y__cond"};
  job.bounds["y"].exact = {"integers"};
  job.checks[0].family = "integers";
  const auto device = make_host_device(fakes::toy_device());
  const auto report = run_check(*device, job, [](Phase) {});
  ASSERT_TRUE(report);
  EXPECT_EQ(report->verdict.reason, "mismatch");
}

// ---- what a rule of the spec excuses -----------------------------------------------------------------

// Rounds down; on contents of integers every element is on an edge. `off` elements come out `wrong` steps lower.
Job on_the_edge(fakes::HostDeviceOptions& options, int off, float nudge = 0, float wrong = 1) {
  options.kernels["reference"] = [nudge](const fakes::HostLaunch& launch) -> OrFault<void> {
    const int m = launch.scalar<int>(5), n = launch.scalar<int>(6), ldx = launch.scalar<int>(7);
    for (int i = 0; i < m * n; ++i) {
      launch.pointer<double>(2)[i] = std::floor(launch.pointer<const float>(0)[i / n * ldx + i % n] + nudge) + 0.5;
      launch.pointer<double>(3)[i] = 1;
    }
    return {};
  };
  options.kernels["steps"] = [off, wrong](const fakes::HostLaunch& launch) -> OrFault<void> {
    const int m = launch.scalar<int>(4), n = launch.scalar<int>(5), ldx = launch.scalar<int>(6);
    for (int i = 0, left = off; i < m * n; ++i) {
      const int at = i / n * ldx + i % n;
      const float x = launch.pointer<const float>(0)[at];
      const bool low = x != 0 && left-- > 0;  // zero has no ulp to be moved by
      launch.pointer<float>(2)[at] = std::floor(x) + 0.5F - (low ? wrong : 0.0F);
    }
    return {};
  };
  Job job = fakes::toy_check("steps", {fakes::toy_case(10, 20)});
  job.checks[0].family = "integers";
  job.bounds["y"].ill_conditioned = 0.01;  // two of the 200
  ReferenceVariant wide;
  wide.kind = ReferenceVariant::Kind::kWideInputs;
  wide.cases = job.cases;
  wide.arm = job.reference;
  job.variants.push_back(std::move(wide));
  return job;
}
Verdict checked(const Job& job, const fakes::HostDeviceOptions& options) {
  const auto device = make_host_device(options);
  const auto report = run_check(*device, job, [](Phase) {});
  EXPECT_TRUE(report);
  return report ? report->verdict : Verdict{};
}

TEST(IllConditioned, ElementsAreLeftOutUpToTheShareThatTheSpecStates) {
  fakes::HostDeviceOptions options = fakes::toy_device();
  EXPECT_TRUE(checked(on_the_edge(options, 2), options).passed);
  EXPECT_FALSE(checked(on_the_edge(options, 3), options).passed);
}

TEST(IllConditioned, ElementsAreJudgedWhereTheSpecStatesNothing) {
  fakes::HostDeviceOptions options = fakes::toy_device();
  Job job = on_the_edge(options, 1);
  job.bounds["y"].ill_conditioned = 0;
  EXPECT_FALSE(checked(job, options).passed);
}

TEST(IllConditioned, IsNoExcuseAwayFromAJump) {
  fakes::HostDeviceOptions options = fakes::toy_device();
  EXPECT_FALSE(checked(on_the_edge(options, 1, 0.25F), options).passed);
}

TEST(IllConditioned, ExcusesNothingButWhatLiesWithinTheJump) {
  fakes::HostDeviceOptions options = fakes::toy_device();
  EXPECT_TRUE(checked(on_the_edge(options, 2, 0, 0.5F), options).passed);
  EXPECT_FALSE(checked(on_the_edge(options, 2, 0, 2), options).passed);
  EXPECT_FALSE(checked(on_the_edge(options, 2, 0, -1), options).passed);
  EXPECT_FALSE(checked(on_the_edge(options, 2, 0, 1e6F), options).passed);
}

TEST(IllConditioned, ZerosWhereTheReferenceJumpsAreRefused) {
  fakes::HostDeviceOptions options = fakes::toy_device();
  const Job job = on_the_edge(options, 0);
  options.kernels["steps"] = [steps = options.kernels.at("steps")](const fakes::HostLaunch& launch) {
    OrFault<void> done = steps(launch);
    float* y = launch.pointer<float>(2);
    for (int i = 0, left = 2; i < 200 && left > 0; ++i) {
      if (std::abs(y[i]) > 2) {  // the jump there does not reach zero
        y[i] = 0;
        --left;
      }
    }
    return done;
  };
  const Verdict verdict = checked(job, options);
  EXPECT_FALSE(verdict.passed);
  EXPECT_EQ(verdict.reason, "mismatch");
}

// Indices into w, whose elements are all equal: row i of y holds index_of(i, j) at j, the reference j.
Verdict with_tied_indices(const std::string& ranks, const std::function<int(int, int, int)>& index_of) {
  fakes::HostDeviceOptions options = fakes::toy_device();
  options.kernels["reference"] = [](const fakes::HostLaunch& launch) -> OrFault<void> {
    const int m = launch.scalar<int>(5), n = launch.scalar<int>(6);
    for (int i = 0; i < m * n; ++i) {
      launch.pointer<double>(2)[i] = i % n;
      launch.pointer<double>(3)[i] = 1;
    }
    return {};
  };
  options.kernels["indices"] = [index_of](const fakes::HostLaunch& launch) -> OrFault<void> {
    const int m = launch.scalar<int>(4), n = launch.scalar<int>(5), ldx = launch.scalar<int>(6);
    for (int i = 0; i < m * n; ++i) {
      launch.pointer<float>(2)[i / n * ldx + i % n] = static_cast<float>(index_of(i / n, i % n, n));
    }
    return {};
  };
  Case of = fakes::toy_case(4, 8);
  of.tensors[2].dims[1] = ranks;
  Job job = fakes::toy_check("indices", {of});
  job.checks[0].family = "constant";
  job.bounds["y"].ties_of = "w";
  job.bounds["y"].ties_along = "N";
  return checked(job, options);
}

TEST(Ties, RowsAreThoseOfTheOutputAlsoWhereTheIndexedTensorLacksThem) {
  for (const char* ranks : {"N", "K"}) {  // an order of w, and ranks
    const auto last_first = [](int, int j, int n) { return n - 1 - j; };
    const Verdict honest = with_tied_indices(ranks, last_first);
    EXPECT_TRUE(honest.passed) << ranks << ": " << honest.message;
    const auto turned = [](int i, int j, int n) { return (i + j) % n; };
    EXPECT_TRUE(with_tied_indices(ranks, turned).passed) << ranks;
    const auto repeated = [](int, int, int) { return 3; };
    EXPECT_FALSE(with_tied_indices(ranks, repeated).passed) << ranks;
    const auto one_repeated = [](int i, int j, int n) { return i == 2 && j == 1 ? n - 1 : n - 1 - j; };
    EXPECT_FALSE(with_tied_indices(ranks, one_repeated).passed) << ranks;
  }
}

}  // namespace
}  // namespace kf
