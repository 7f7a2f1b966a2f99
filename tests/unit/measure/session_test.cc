// SPDX-License-Identifier: Apache-2.0
// Arms, quads, contents, verification, when a session ends.
#include <cmath>

#include "session_fixture.h"

namespace kf {
namespace {

using fakes::HostDeviceOptions;
using fakes::HostLaunch;
using fakes::toy_case;
using fakes::toy_time;
using testing::Contains;
using testing::HasSubstr;

TEST(Session, TimesEveryArmTwiceAQuad) {
  const TimeReport report = report_of(toy_time({"good", "naive"}, {toy_case(3, 8)}));
  EXPECT_TRUE(report.verdict.passed) << report.verdict.message;
  EXPECT_EQ(report.verdict.gate, Gate::kTimedRun);
  const CaseTiming& timing = report.measurement.cases.at(0);
  EXPECT_THAT(timing.arms, testing::ElementsAre("candidate", "baseline:naive", "baseline:naive_again"));
  std::map<std::pair<int, int>, int> count;
  for (const Sample& sample : timing.samples) {
    ++count[{sample.quad, sample.arm}];
  }
  EXPECT_EQ(count.size(), 8U * 3);  // no noise: the interval is narrow after min_quads
  for (const auto& [key, n] : count) {
    EXPECT_EQ(n, 2);
  }
  EXPECT_EQ(report.measurement.device, "host device of the tests");
}

TEST(Session, ControlsWithTheChampionWhereThereIsOne) {
  Job job = toy_time({"good", "champion", "naive"}, {toy_case(3, 8)});
  job.arms[1].name = "champion";
  EXPECT_THAT(report_of(job).measurement.cases.at(0).arms,
              testing::ElementsAre("candidate", "champion", "baseline:naive", "champion_again"));
}

TEST(Session, ControlsWithTheCandidateWhenItIsAlone) {
  EXPECT_THAT(report_of(toy_time({"good"}, {toy_case(3, 8)})).measurement.cases.at(0).arms,
              testing::ElementsAre("candidate", "candidate_again"));
}

TEST(Session, FindsAFasterArm) {
  const TimeReport report =
      report_of(toy_time({"good", "naive"}, {toy_case(3, 8)}), with_times({9'000, 10'000, 10'000}));
  const CaseTiming& timing = report.measurement.cases.at(0);
  EXPECT_EQ(compare_arms(timing, 0, 1, 0.005), Comparison::kWin);
  EXPECT_NEAR(ratio_interval(timing, 0, 1).median, 0.9, 1e-9);
}

TEST(Session, LetsANoisyMachineRefuse) {
  const TimeReport report =
      report_of(toy_time({"good", "naive"}, {toy_case(3, 8)}), with_times({9'000, 10'000, 10'300}));
  EXPECT_EQ(compare_arms(report.measurement.cases.at(0), 0, 1, 0.005), Comparison::kRefused);
}

TEST(Session, GoesOnWhileIntervalsAreWide) {
  HostDeviceOptions options = fakes::toy_device();
  options.nanoseconds = [](const Slot&, std::int64_t n) {
    return 10'000.0 * (1 + 0.8 * static_cast<double>(n * 7919 % 13) / 13);
  };
  const TimeReport report = report_of(toy_time({"good", "naive"}, {toy_case(3, 8)}), options);
  EXPECT_EQ(report.measurement.cases.at(0).samples.size(), 48U * 6);
}

TEST(Session, StopsWhenItsTimeIsOver) {
  Job job = toy_time({"good", "naive"}, {toy_case(3, 8)});
  job.deadline = std::chrono::milliseconds(100);
  const auto report = timed(job, fakes::toy_device(), std::chrono::milliseconds(30));
  ASSERT_TRUE(report);
  const CaseTiming& timing = report->measurement.cases.at(0);
  EXPECT_EQ(timing.samples.size(), 6U);  // one quad at least
  EXPECT_THAT(timing.notes, Contains(HasSubstr("time for this case was over")));
}

TEST(Session, NeverRepeatsContentsAndPoisonsOutputsEachTime) {
  HostDeviceOptions options = fakes::toy_device();
  std::vector<float> inputs, outputs;
  const auto good = options.kernels["good"];
  options.kernels["good"] = options.kernels["naive"] = [&](const HostLaunch& launch) {
    inputs.push_back(launch.pointer<const float>(0)[1]);
    const float before = launch.pointer<const float>(2)[0];
    EXPECT_TRUE(std::isnan(before) || std::abs(before) > 0x1p113F) << before;
    outputs.push_back(static_cast<float>(launch.pointer<const std::uint32_t>(2)[0]));
    return good(launch);
  };
  EXPECT_TRUE(report_of(toy_time({"good", "naive"}, {toy_case(3, 8)}), options).verdict.passed);
  const std::set<float> distinct(inputs.begin(), inputs.end());
  EXPECT_EQ(distinct.size(), inputs.size());
  EXPECT_GT(inputs.size(), 50U);
  EXPECT_GT(std::set<float>(outputs.begin(), outputs.end()).size(), outputs.size() * 9 / 10);
}

// Right outputs are not all that a launch owes: checks look at the same things.
TEST(Session, LooksAtWhatATimedLaunchDidBesideItsOutputs) {
  const auto refusal = [](const std::string& entry, const std::vector<Workspace>& workspaces) {
    Job job = toy_time({entry, "naive"}, {toy_case(3, 8, 11)});
    job.arms[0] = fakes::toy_arm("candidate", entry, job.cases, workspaces);
    return report_of(job).verdict;
  };
  const Verdict stray = refusal("past_the_end", {});
  EXPECT_EQ(stray.gate, Gate::kTimedRun);
  EXPECT_EQ(stray.reason, "red_zone");
  EXPECT_THAT(stray.message, testing::StartsWith("in a timed launch, "));
  EXPECT_EQ(refusal("into_padding", {}).reason, "padding_changed");
  EXPECT_EQ(refusal("uses_workspace", {{"w", 64, WorkspaceInit::kZeroRestored}}).reason, "workspace_not_restored");
  EXPECT_TRUE(refusal("restores_workspace", {{"w", 64, WorkspaceInit::kZeroRestored}}).passed);
}

TEST(Session, VerifiesEachArm) {
  const TimeReport report = report_of(toy_time({"good", "naive"}, {toy_case(3, 8), toy_case(5, 4)}));
  for (const CaseTiming& timing : report.measurement.cases) {
    EXPECT_GE(timing.verified, 3);
  }
  EXPECT_EQ(report.verdict.checks, report.measurement.cases[0].verified + report.measurement.cases[1].verified);
}

TEST(Session, CatchesACandidateThatIsHonestOnlyAtFirst) {
  // Right for its first 6 launches. Whichever launches are drawn, a few seeds find it.
  int caught = 0;
  for (std::uint64_t seed = 1; seed <= 10; ++seed) {
    Job job = toy_time({"counts_launches", "naive"}, {toy_case(3, 8)});
    job.time_seeds = {seed};
    const TimeReport report = report_of(job);
    caught += !report.verdict.passed && report.verdict.reason == "mismatch" ? 1 : 0;
    EXPECT_EQ(report.verdict.gate, Gate::kTimedRun);
  }
  EXPECT_GE(caught, 7);
}

struct Refusal {
  const char *entry, *reason;
};
class SessionRefuses : public testing::TestWithParam<Refusal> {};
TEST_P(SessionRefuses, WrongTimedOutputs) {
  const TimeReport report = report_of(toy_time({GetParam().entry, "naive"}, {toy_case(6, 16, 20)}));
  EXPECT_FALSE(report.verdict.passed);
  EXPECT_EQ(report.verdict.reason, GetParam().reason) << report.verdict.message;
  EXPECT_EQ(report.verdict.gate, Gate::kTimedRun);
  EXPECT_THAT(report.verdict.case_id, HasSubstr("M=6"));
}
INSTANTIATE_TEST_SUITE_P(Kinds, SessionRefuses,
                         testing::Values(Refusal{"nothing", "unwritten"}, Refusal{"half_rows", "unwritten"},
                                         Refusal{"remembers", "mismatch"}, Refusal{"changes_x", "input_changed"},
                                         Refusal{"illegal", "illegal_access"}, Refusal{"refused", "launch_refused"},
                                         Refusal{"no_such_kernel", "launch_refused"}),
                         [](const auto& test) { return std::string(test.param.entry); });

TEST(Session, BlamesTheCandidateForAFaultInABatch) {
  HostDeviceOptions options = fakes::toy_device();
  options.inject = [n = 0](std::string_view verb) mutable -> std::optional<DeviceFault> {
    return verb == "time" && ++n == 20 ? std::optional(DeviceFault{DeviceFault::Kind::kTimeout, "spins"})
                                       : std::nullopt;
  };
  const TimeReport report = report_of(toy_time({"good", "naive"}, {toy_case(3, 8)}), options);
  EXPECT_EQ(report.verdict.reason, "timeout");
}

// The same words as a check: within the bound, but not exact where the contents allow that.
TEST(Session, CallsInexactWhatACheckCallsSo) {
  HostDeviceOptions options = fakes::toy_device();
  options.kernels["one_ulp"] = [right = options.kernels.at("good")](const HostLaunch& launch) {
    OrFault<void> done = right(launch);
    float& value = *launch.pointer<float>(2);
    value = std::nextafter(value, 1e30F);
    return done;
  };
  Job job = toy_time({"one_ulp", "naive"}, {toy_case(3, 8)});
  job.cases[0].family = "integers";
  EXPECT_TRUE(report_of(job, options).verdict.passed);
  job.bounds["y"].exact = {"integers"};
  const TimeReport report = report_of(job, options);
  EXPECT_FALSE(report.verdict.passed);
  EXPECT_EQ(report.verdict.reason, "inexact") << report.verdict.message;
}

TEST(Session, LeavesOutABaselineThatIsWrong) {
  const TimeReport report = report_of(toy_time({"good", "half_rows", "naive"}, {toy_case(3, 8)}));
  EXPECT_TRUE(report.verdict.passed);
  const CaseTiming& timing = report.measurement.cases.at(0);
  const int dropped = arm_of(timing, "baseline:half_rows");
  EXPECT_TRUE(std::ranges::none_of(timing.samples, [&](const Sample& sample) { return sample.arm == dropped; }));
  EXPECT_THAT(timing.notes, Contains(HasSubstr("baseline:half_rows does not count here: wrong outputs")));
  EXPECT_FALSE(std::ranges::none_of(
      timing.samples, [&](const Sample& sample) { return sample.arm == arm_of(timing, "baseline:naive"); }));
}

TEST(Session, LeavesOutABaselineThatCannotBeLaunched) {
  const TimeReport report = report_of(toy_time({"good", "refused", "naive"}, {toy_case(3, 8)}));
  EXPECT_TRUE(report.verdict.passed);
  EXPECT_THAT(report.measurement.cases.at(0).notes, Contains(HasSubstr("launch_refused")));
}

TEST(Session, BlamesTheRigWhenABaselineEndsTheDevice) {
  const auto report = timed(toy_time({"good", "illegal"}, {toy_case(3, 8)}));
  ASSERT_FALSE(report);
  EXPECT_EQ(report.error().kind, Fault::Kind::kRig);
  EXPECT_THAT(report.error().what, HasSubstr("baseline:illegal"));
}

TEST(Session, NamesTheVariantThatEndedTheDevice) {
  Job job = toy_time({"good", "naive", "illegal"}, {toy_case(3, 8)});
  job.arms[1].name = "variant:1";
  job.arms[2].name = "variant:2";
  const TimeReport report = report_of(job);
  EXPECT_EQ(report.verdict.reason, "illegal_access");
  EXPECT_EQ(report.arm, 2);
}

TEST(Session, MakesContentsAnewWhereBuffersAreLarge) {
  HostDeviceOptions options = fakes::toy_device();
  options.facts.l2_bytes = 16;  // every case is above eight times that
  std::set<const void*> addresses;
  std::set<float> inputs;
  int launches = 0;
  const auto good = options.kernels["good"];
  options.kernels["good"] = options.kernels["naive"] = [&](const HostLaunch& launch) {
    addresses.insert(launch.pointers[0]);
    inputs.insert(launch.pointer<const float>(0)[1]);
    ++launches;
    return good(launch);
  };
  const TimeReport report = report_of(toy_time({"good", "naive"}, {toy_case(3, 8)}), options);
  EXPECT_TRUE(report.verdict.passed);
  EXPECT_EQ(addresses.size(), 1U);
  EXPECT_EQ(inputs.size(), static_cast<std::size_t>(launches));
  EXPECT_THAT(report.measurement.cases.at(0).notes, Contains(HasSubstr("one set of buffers")));
}

TEST(Session, SaysWhenMemoryLimitsRotation) {
  HostDeviceOptions options = fakes::toy_device();
  options.memory_bytes = 20'000;
  const TimeReport report = report_of(toy_time({"good", "naive"}, {toy_case(16, 16)}), options);
  EXPECT_TRUE(report.verdict.passed);
  EXPECT_THAT(report.measurement.cases.at(0).notes, Contains(HasSubstr("limited by memory")));
}

TEST(Session, LoadsModulesAnewForEachQuad) {
  HostDeviceOptions options = fakes::toy_device();
  int loads = 0;
  options.on_load = [&] { ++loads; };
  (void)report_of(toy_time({"good", "naive"}, {toy_case(3, 8)}), options);
  EXPECT_EQ(loads, 3 * 8 + 1);  // three runners in eight quads, the reference
}

Job with_copy() {
  Job job = toy_time({"good", "naive"}, {toy_case(3, 8)});
  Case copy = toy_case(1, 64);
  copy.tensors = {copy.tensors[0], copy.tensors[2]};
  copy.tensors[0].name = "source";
  copy.tensors[1].name = "target";
  Arm arm;
  arm.name = "copy:memcpy";
  arm.builds = {job.arms[0].builds[0]};
  arm.own_cases = {copy};
  ResolvedPlan plan;
  plan.build = arm.builds[0].id;
  Launch launch;
  launch.kind = Launch::Kind::kMemcpy;
  Arg target, source, bytes;
  target.kind = source.kind = Arg::Kind::kTensor;
  target.index = 1;
  bytes.bits = 256;
  launch.args = {target, source, bytes};
  plan.launches = {launch};
  arm.plans = {plan};
  job.arms.push_back(arm);
  return job;
}

TEST(Session, TimesAndVerifiesTheCopyRow) {
  const TimeReport report = report_of(with_copy());
  EXPECT_TRUE(report.verdict.passed);
  const CaseTiming& timing = report.measurement.cases.at(0);
  const int copy = arm_of(timing, "copy:memcpy");
  EXPECT_EQ(std::ranges::count_if(timing.samples, [&](const Sample& sample) { return sample.arm == copy; }), 16);
  EXPECT_GE(timing.verified, 4);
}

TEST(Session, LeavesOutACopyThatDoesNotCopy) {
  Job job = with_copy();
  job.arms[2].plans[0].launches[0].args[2].bits = 200;
  const TimeReport report = report_of(job);
  EXPECT_TRUE(report.verdict.passed);
  EXPECT_THAT(report.measurement.cases.at(0).notes, Contains(HasSubstr("14 elements were not copied")));
}

TEST(Session, TakesOneEstimateOfEachArm) {
  Job job = toy_time({"good", "naive"}, {toy_case(3, 8)});
  job.method = ClockMethod::kEstimate;
  const TimeReport report = report_of(job, with_times({50, 100}));
  const CaseTiming& timing = report.measurement.cases.at(0);
  EXPECT_THAT(timing.arms, testing::ElementsAre("candidate", "baseline:naive"));
  EXPECT_EQ(timing.samples.size(), 2U);
  EXPECT_EQ(timing.verified, 2);
  EXPECT_EQ(compare_arms(timing, 0, 1, 0.005), Comparison::kWin);
  EXPECT_EQ(report.measurement.device_busy_share, 0);
}

TEST(Session, ReportsSharesOfTheWallTime) {
  const auto report =
      timed(toy_time({"good", "naive"}, {toy_case(3, 8)}), fakes::toy_device(), std::chrono::microseconds(50));
  ASSERT_TRUE(report);
  EXPECT_GT(report->measurement.device_busy_share, 0.2);
  EXPECT_LE(report->measurement.device_busy_share, 1.0);
  EXPECT_GT(report->measurement.arms_share, 0.0);
}

TEST(Session, TellsWhenTheCandidateMayBeRunning) {
  const auto device = make_host_device(fakes::toy_device());
  std::vector<bool> phases;
  ASSERT_TRUE(run_time(*device, toy_time({"good"}, {toy_case(3, 8)}), StepClock(),
                       [&](bool candidate) { phases.push_back(candidate); }));
  EXPECT_GT(std::ranges::count(phases, true), 8);
  EXPECT_FALSE(phases.back());
}

TEST(Session, ReleasesEveryBuffer) {
  const auto device = make_host_device(fakes::toy_device());
  const std::int64_t before = device->free_bytes();
  ASSERT_TRUE(run_time(*device, with_copy(), StepClock(), [](bool) {}));
  EXPECT_EQ(device->free_bytes(), before);
}

TEST(Session, RefusesJobsThatMakeNoSense) {
  Job job = toy_time({"good"}, {toy_case(3, 8)});
  job.arms[0].plans.clear();
  EXPECT_EQ(timed(job).error().reason, "garbage");
  job.arms.clear();
  EXPECT_EQ(timed(job).error().reason, "garbage");
}

TEST(Session, BlamesTheRigForItsOwnVerbs) {
  for (const char* verb : {"allocate", "poison", "fill", "compare", "scrub_shared"}) {
    HostDeviceOptions options = fakes::toy_device();
    options.inject = [verb](std::string_view now) -> std::optional<DeviceFault> {
      return now == verb ? std::optional(DeviceFault{DeviceFault::Kind::kLost, "gone"}) : std::nullopt;
    };
    const auto report = timed(toy_time({"good", "naive"}, {toy_case(3, 8)}), options);
    ASSERT_FALSE(report) << verb;
    EXPECT_EQ(report.error().kind, Fault::Kind::kRig);
  }
}

}  // namespace
}  // namespace kf
