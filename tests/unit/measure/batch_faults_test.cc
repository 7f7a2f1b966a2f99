// SPDX-License-Identifier: Apache-2.0
// Whose fault a fault in a batch is.
#include "session_fixture.h"

namespace kf {
namespace {

using fakes::HostDeviceOptions;
using fakes::HostLaunch;
using fakes::toy_case;
using fakes::toy_time;
using testing::Contains;
using testing::HasSubstr;

HostDeviceOptions with_fault_in_batches(DeviceFault fault) {
  HostDeviceOptions options = fakes::toy_device();
  options.inject = [fault](std::string_view verb) { return verb == "time" ? std::optional(fault) : std::nullopt; };
  return options;
}
Job beside_a_champion() {
  Job job = toy_time({"good", "champion", "naive"}, {toy_case(3, 8)});
  job.arms[1].name = "champion";
  return job;
}

TEST(Session, BlamesTheOnlyUntrustedArmOfABatch) {
  const TimeReport report = report_of(toy_time({"good", "naive"}, {toy_case(3, 8)}),
                                      with_fault_in_batches({DeviceFault::Kind::kIllegalAccess, "at 0x10"}));
  EXPECT_EQ(report.verdict.reason, "illegal_access");
  EXPECT_EQ(report.arm, 0);
}

TEST(Session, NamesNoArmWhenACandidateAndAChampionShareABatch) {
  const TimeReport report =
      report_of(beside_a_champion(), with_fault_in_batches({DeviceFault::Kind::kIllegalAccess, "at 0x10"}));
  EXPECT_FALSE(report.verdict.passed);
  EXPECT_EQ(report.arm, -1);
}

TEST(Session, NamesTheArmOfTheSlotWhoseKernelRecordsDiffer) {
  Job job = beside_a_champion();
  job.method = ClockMethod::kCupti;
  DeviceFault fault{DeviceFault::Kind::kLaunchTruth, "another grid"};
  std::set<std::int32_t> arms;
  for (fault.slot = 0; fault.slot < 8; ++fault.slot) {
    const TimeReport report = report_of(job, with_fault_in_batches(fault));
    EXPECT_EQ(report.verdict.reason, "launch_truth");
    arms.insert(report.arm);
  }
  EXPECT_THAT(arms, testing::ElementsAre(0, 1, 2));  // the control is its original's
}

TEST(Session, TakesMissingKernelRecordsForTheRigs) {
  Job job = toy_time({"good", "naive"}, {toy_case(3, 8)});
  job.method = ClockMethod::kCupti;
  const auto report = timed(job, with_fault_in_batches({DeviceFault::Kind::kUnsupported, "no libcupti.so"}));
  ASSERT_FALSE(report);
  EXPECT_EQ(report.error().kind, Fault::Kind::kRig);
  EXPECT_THAT(report.error().what, HasSubstr("no libcupti.so"));
}

// ---- batches without the candidate ----

// Kernels "naive" and "champion" misbehave in timed launches that `when` picks.
struct Batch {
  bool timing = false, candidate = false;
  int launches = 0;
};
HostDeviceOptions with_bad_baselines(std::function<bool(const Batch&)> when, fakes::HostKernel bad) {
  HostDeviceOptions options = fakes::toy_device();
  const auto batch = std::make_shared<Batch>();
  options.inject = [batch](std::string_view verb) -> std::optional<DeviceFault> {
    if (verb == "scrub_shared") {
      *batch = {};
    }
    batch->timing = verb == "time";
    return std::nullopt;
  };
  options.kernels["good"] = [good = options.kernels["good"], batch](const HostLaunch& launch) {
    batch->candidate = true;
    ++batch->launches;
    return good(launch);
  };
  for (const char* entry : {"naive", "champion"}) {
    options.kernels[entry] = [right = options.kernels[entry], bad, when, batch](const HostLaunch& launch) {
      ++batch->launches;
      const auto done = right(launch);
      return done && batch->timing && when(*batch) ? bad(launch) : done;
    };
  }
  return options;
}
fakes::HostKernel faults(DeviceFault::Kind kind) {
  return [kind](const HostLaunch&) -> OrFault<void> { return std::unexpected(DeviceFault{kind, "said the device"}); };
}
OrFault<void> changes_its_input(const HostLaunch& launch) {
  launch.pointer<float>(0)[0] += 1.0F;
  return {};
}
bool always(const Batch&) {
  return true;
}
// The candidate is among the first half of a palindrome.
bool apart(const Batch& batch) {
  return batch.launches > 4 && !batch.candidate;
}
HostDeviceOptions with_one_set(HostDeviceOptions options) {
  options.facts.l2_bytes = 16;
  return options;
}
bool has_samples(const CaseTiming& timing, const std::string& arm) {
  return std::ranges::find(timing.samples, arm_of(timing, arm), &Sample::arm) != timing.samples.end();
}

TEST(TrustedBatch, AFaultThatTheDeviceSurvivesDropsTheArm) {
  const HostDeviceOptions options = with_bad_baselines(always, faults(DeviceFault::Kind::kLaunchRefused));
  const TimeReport report = report_of(toy_time({"good", "naive"}, {toy_case(3, 8)}), with_one_set(options));
  EXPECT_TRUE(report.verdict.passed) << report.verdict.message;
  const CaseTiming& timing = report.measurement.cases.at(0);
  EXPECT_THAT(timing.notes, Contains(HasSubstr("baseline:naive does not count here: launch_refused")));
  EXPECT_FALSE(has_samples(timing, "baseline:naive"));
  EXPECT_FALSE(has_samples(timing, "baseline:naive_again"));
  EXPECT_TRUE(has_samples(timing, "candidate"));
}

TEST(TrustedBatch, AFaultThatEndsTheDeviceIsTheRigs) {
  const HostDeviceOptions options = with_bad_baselines(always, faults(DeviceFault::Kind::kIllegalAccess));
  const auto report = timed(toy_time({"good", "naive"}, {toy_case(3, 8)}), with_one_set(options));
  ASSERT_FALSE(report);
  EXPECT_EQ(report.error().kind, Fault::Kind::kRig);
  EXPECT_THAT(report.error().what, HasSubstr("baseline:naive"));
}

TEST(TrustedBatch, AFaultOfQuadsApartFromTheCandidateIsNotTheCandidates) {
  const auto report = timed(with_control(10), with_bad_baselines(apart, faults(DeviceFault::Kind::kIllegalAccess)));
  ASSERT_FALSE(report);
  EXPECT_EQ(report.error().kind, Fault::Kind::kRig);
  const TimeReport survived =
      report_of(with_control(10), with_bad_baselines(apart, faults(DeviceFault::Kind::kLaunchRefused)));
  EXPECT_TRUE(survived.verdict.passed) << survived.verdict.message;
  EXPECT_FALSE(has_samples(survived.measurement.cases.at(0), "baseline:naive_apart"));
}

TEST(TrustedBatch, OfSeveralArmsNobodyCanTellWhich) {
  Job job = toy_time({"good", "naive", "champion"}, {toy_case(3, 8)});
  job.control_quads = 10;
  const auto report = timed(job, with_bad_baselines(apart, faults(DeviceFault::Kind::kLaunchRefused)));
  ASSERT_FALSE(report);
  EXPECT_EQ(report.error().kind, Fault::Kind::kRig);
  EXPECT_THAT(report.error().what, HasSubstr("and others"));
}

TEST(TrustedBatch, ChangedInputsDropTheArmThatWasAlone) {
  const TimeReport report = report_of(toy_time({"good", "naive"}, {toy_case(3, 8)}),
                                      with_one_set(with_bad_baselines(always, changes_its_input)));
  EXPECT_TRUE(report.verdict.passed) << report.verdict.message;
  EXPECT_THAT(report.measurement.cases.at(0).notes,
              Contains(HasSubstr("baseline:naive does not count here: input_changed")));
}

TEST(TrustedBatch, TellsThatTheCandidateDoesNotRun) {
  bool candidate = false, blamed = false;
  int launches = 0;
  const HostDeviceOptions options = with_one_set(with_bad_baselines(always, [&](const HostLaunch&) -> OrFault<void> {
    blamed = blamed || candidate;
    ++launches;
    return {};
  }));
  const auto device = make_host_device(options);
  ASSERT_TRUE(run_time(*device, toy_time({"good", "naive"}, {toy_case(3, 8)}), StepClock(),
                       [&](bool now) { candidate = now; }));
  EXPECT_GT(launches, 16);
  EXPECT_FALSE(blamed);
}

TEST(Session, ADroppedArmHasNoSamplesOfLaterBatchesEither) {
  const TimeReport report =
      report_of(toy_time({"good", "half_rows", "naive"}, {toy_case(3, 8)}), with_one_set(fakes::toy_device()));
  EXPECT_TRUE(report.verdict.passed) << report.verdict.message;
  EXPECT_FALSE(has_samples(report.measurement.cases.at(0), "baseline:half_rows"));
}

TEST(Session, StopsEarlyThoughTheControlsOriginalWasDropped) {
  HostDeviceOptions options = fakes::toy_device();
  // First launches begin with the last arm, the control: the second one is the original's.
  options.kernels["naive"] = [naive = options.kernels["naive"], n = 0](const HostLaunch& launch) mutable {
    return ++n == 2 ? OrFault<void>(std::unexpected(DeviceFault{DeviceFault::Kind::kLaunchRefused, "once"}))
                    : naive(launch);
  };
  const CaseTiming timing = report_of(toy_time({"good", "naive"}, {toy_case(3, 8)}), options).measurement.cases.at(0);
  EXPECT_FALSE(has_samples(timing, "baseline:naive"));
  EXPECT_TRUE(has_samples(timing, "baseline:naive_again"));
  EXPECT_EQ(timing.samples.size(), 8U * 4);  // min_quads
}

}  // namespace
}  // namespace kf
