// SPDX-License-Identifier: Apache-2.0
// What a candidate does to the arms beside it.
#include "session_fixture.h"

namespace kf {
namespace {

using fakes::HostDeviceOptions;
using fakes::HostLaunch;
using fakes::toy_case;
using fakes::toy_time;
using testing::Contains;
using testing::HasSubstr;

// Every launch of a batch that comes after one of the candidate takes a tenth more.
HostDeviceOptions with_leftovers() {
  HostDeviceOptions options = fakes::toy_device();
  const auto after = std::make_shared<bool>(false);
  options.inject = [after](std::string_view verb) -> std::optional<DeviceFault> {
    *after = *after && verb != "scrub_shared";  // a batch begins
    return std::nullopt;
  };
  options.nanoseconds = [after](const Slot& slot, std::int64_t) {
    const double time = *after && slot.arm != 0 ? 11'000 : 10'000;
    *after = *after || slot.arm == 0;
    return time;
  };
  return options;
}

TEST(Sabotage, TheControlTakesTheCandidatesPlaceInQuadsOfTheirOwn) {
  const CaseTiming timing = report_of(with_control(10)).measurement.cases.at(0);
  EXPECT_THAT(timing.arms,
              testing::ElementsAre("candidate", "baseline:naive", "baseline:naive_again", "baseline:naive_apart"));
  std::map<std::pair<int, int>, int> count;
  for (const Sample& sample : timing.samples) {
    ++count[{sample.arm, sample.quad}];
  }
  for (int quad = 0; quad < 12; ++quad) {
    EXPECT_EQ((count[{1, quad}]), 2);
    EXPECT_EQ((count[{3, quad}]), quad < 10 ? 2 : 0);
  }
}

TEST(Sabotage, SlowsTheArmBesideTheCandidateAndNotApart) {
  const CaseTiming slowed = report_of(with_control(12), with_leftovers()).measurement.cases.at(0);
  EXPECT_GT(ratio_interval(slowed, 1, 3).low, 1.04);
  const CaseTiming plain = report_of(with_control(12)).measurement.cases.at(0);
  EXPECT_NEAR(ratio_interval(plain, 1, 3).median, 1.0, 1e-9);
}

TEST(Sabotage, WithoutAControlQuadThereIsNoSuchArm) {
  EXPECT_EQ(report_of(with_control(0)).measurement.cases.at(0).arms.size(), 3u);
}

// It reaches into the outputs of whoever comes next: the baseline is right alone.
TEST(Sabotage, WritingIntoOtherArmsOutputsIsTheCandidatesFault) {
  HostDeviceOptions options = fakes::toy_device();
  const auto beside = std::make_shared<bool>(false);
  options.inject = [beside](std::string_view verb) -> std::optional<DeviceFault> {
    *beside = *beside && verb != "scrub_shared" && verb != "poison";
    return std::nullopt;
  };
  options.kernels["good"] = [good = options.kernels["good"], beside](const HostLaunch& launch) {
    *beside = true;
    return good(launch);
  };
  options.kernels["naive"] = [naive = options.kernels["naive"], beside](const HostLaunch& launch) {
    const auto done = naive(launch);
    if (*beside) {
      launch.pointer<float>(2)[0] += 1000.0F;  // what the candidate does to it
    }
    return done;
  };
  const TimeReport report = report_of(toy_time({"good", "naive"}, {toy_case(3, 8)}), options);
  EXPECT_FALSE(report.verdict.passed);
  EXPECT_EQ(report.verdict.reason, "sabotage");
  EXPECT_EQ(report.arm, 0);
  EXPECT_THAT(report.verdict.message, HasSubstr("right alone"));
}

TEST(Sabotage, ABaselineThatIsWrongAloneTooIsItsOwnFault) {
  const TimeReport report = report_of(toy_time({"good", "half_rows"}, {toy_case(3, 8)}));
  EXPECT_TRUE(report.verdict.passed) << report.verdict.message;
  EXPECT_THAT(report.measurement.cases.at(0).notes, Contains(HasSubstr("does not count here")));
}

}  // namespace
}  // namespace kf
