// SPDX-License-Identifier: Apache-2.0
// What the check gates make and refuse.
#include <algorithm>
#include <array>
#include <set>

#include "check_fixture.h"

namespace kf {
namespace {

using fakes::HostDeviceOptions;
using fakes::toy_case;
using fakes::toy_check;
using testing::HasSubstr;

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
        Refusal{"odd_elements", "unwritten", "8 columns between 0 and 14 (of 16)"},
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

TEST(Check, MovesSomeBaseAddressesOfALaunchEachByMultiplesOfItsOwnAlignment) {
  Case of = toy_case(3, 8);
  ASSERT_EQ(of.tensors.size(), 3U);
  of.tensors[0].align = 4;
  of.tensors[1].align = 256;
  of.tensors[2].align = 16;
  Job job = toy_check("good", {of});
  job.checks[0].misalign = 4;
  for (std::uint64_t seed = 1; seed < 60; ++seed) {
    job.checks.push_back(job.checks[0]);
    job.checks.back().seeds = {seed, 1000 + seed};
  }
  HostDeviceOptions options = fakes::toy_device();
  std::array<std::set<std::uintptr_t>, 3> seen;  // of x, w and y, modulo 256
  options.kernels["good"] = [&, good = options.kernels["good"]](const fakes::HostLaunch& launch) {
    for (std::size_t i = 0; i < 3; ++i) {
      seen[i].insert(reinterpret_cast<std::uintptr_t>(launch.pointers[i]) % 256);
    }
    return good(launch);
  };
  EXPECT_TRUE(verdict_of(job, options).passed);
  EXPECT_GE(seen[0].size(), 10U);
  EXPECT_TRUE(std::ranges::any_of(seen[0], [](std::uintptr_t base) { return base % 8 == 4; }));
  EXPECT_TRUE(std::ranges::any_of(seen[0], [](std::uintptr_t base) { return base % 16 == 8; }));
  EXPECT_THAT(seen[0], testing::Contains(0U));
  EXPECT_THAT(seen[1], testing::ElementsAre(0U));
  EXPECT_GE(seen[2].size(), 5U);
  EXPECT_THAT(seen[2], testing::Each(testing::ResultOf([](std::uintptr_t base) { return base % 16; }, 0U)));
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
  int nans = 0, large = 0;
  options.kernels["good"] = [&, good = options.kernels["good"]](const fakes::HostLaunch& launch) {
    found.push_back(launch.pointer<std::uint32_t>(2)[0]);
    const float first = launch.pointer<float>(2)[0];
    (std::isnan(first) ? nans : large) += 1;
    EXPECT_TRUE(std::isnan(first) || (std::isfinite(first) && std::abs(first) > 0x1p113F)) << first;
    return good(launch);
  };
  Job job = toy_check("good", {toy_case(3, 8)});
  for (std::uint64_t seed = 30; seed < 40; seed += 2) {
    job.checks.push_back({0, "normal", {seed, seed + 1}, 0});
  }
  EXPECT_TRUE(verdict_of(job, options).passed);
  EXPECT_GT(nans, 0);
  EXPECT_GT(large, 0);
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

}  // namespace
}  // namespace kf
