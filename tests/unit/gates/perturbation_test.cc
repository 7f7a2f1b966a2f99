// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <set>

#include "gates/gates.h"
#include "gates/perturbation.h"
#include "tests/fakes/toy_operation.h"

namespace kf {
namespace {

using fakes::HostDeviceOptions;
using fakes::HostLaunch;
using fakes::toy_case;
using fakes::toy_check;
using testing::AllOf;
using testing::HasSubstr;

CheckReport report_of(const Job& job, HostDeviceOptions options) {
  const auto device = make_host_device(std::move(options));
  auto report = run_check(*device, job, [](Phase) {});
  EXPECT_TRUE(report.has_value()) << report.error().what;
  return report ? *std::move(report) : CheckReport{};
}

// "candidate" does what "good" does, and `meanwhile` where it is disturbed.
HostDeviceOptions device_with(std::function<OrFault<void>(const HostLaunch&, const Disturbance&)> meanwhile) {
  HostDeviceOptions options = fakes::toy_device();
  options.kernels["candidate"] = [good = options.kernels["good"], meanwhile](const HostLaunch& launch) {
    const OrFault<void> done = good(launch);
    return launch.disturbance == nullptr ? done : meanwhile(launch, *launch.disturbance);
  };
  return options;
}
float& first_output(const HostLaunch& launch) {
  return *launch.pointer<float>(2);
}

TEST(Perturbation, IsTheLastGateOfACheckAndAccountsForItself) {
  std::vector<Gate> began;
  const auto device = make_host_device(fakes::toy_device());
  const Job job = toy_check("good", {toy_case(3, 8), toy_case(5, 16), toy_case(7, 32)});
  const auto report = run_check(*device, job, [](Phase) {}, [&](Gate gate) { began.push_back(gate); });
  ASSERT_TRUE(report);
  EXPECT_TRUE(report->verdict.passed) << report->verdict.message;
  EXPECT_EQ(report->verdict.gate, Gate::kPerturbation);
  EXPECT_EQ(report->verdict.checks, 3 + 15 + 2);  // checks, repeats of each case, two disturbed launches
  EXPECT_EQ(began, (std::vector{Gate::kCheck, Gate::kRepeat, Gate::kPerturbation, Gate::kPerturbation}));
}

TEST(Perturbation, BlamesNoTimingWhereQuietLaunchesFailToo) {
  Job job = toy_check("low_precision", {toy_case(3, 8)});
  job.keep_going = true;
  const CheckReport report = report_of(job, fakes::toy_device());
  ASSERT_FALSE(report.all.empty());
  const Verdict& disturbed = report.all.back();
  ASSERT_EQ(disturbed.gate, Gate::kPerturbation);
  ASSERT_FALSE(disturbed.passed);
  EXPECT_THAT(disturbed.message, testing::HasSubstr("Undisturbed launches failed before"));
  EXPECT_THAT(disturbed.message, testing::Not(testing::HasSubstr("timing")));
}

TEST(Perturbation, RefusesWhatIsRightOnAQuietDeviceOnly) {
  const CheckReport report =
      report_of(toy_check("candidate", {toy_case(3, 8)}), device_with([](const HostLaunch& launch, const Disturbance&) {
                  first_output(launch) += 1.0F;
                  return OrFault<void>{};
                }));
  EXPECT_FALSE(report.verdict.passed);
  EXPECT_EQ(report.verdict.gate, Gate::kPerturbation);
  EXPECT_EQ(report.verdict.reason, "mismatch");
  EXPECT_THAT(report.verdict.message, AllOf(HasSubstr("50 % of the multiprocessors"), HasSubstr("depends on timing")));
}

TEST(Perturbation, AHangNamesBlocksThatWaitForEachOther) {
  const CheckReport report =
      report_of(toy_check("candidate", {toy_case(3, 8)}), device_with([](const HostLaunch&, const Disturbance&) {
                  return OrFault<void>(
                      std::unexpected(DeviceFault{DeviceFault::Kind::kTimeout, "still running after 8000 ms", -1}));
                }));
  EXPECT_EQ(report.verdict.gate, Gate::kPerturbation);
  EXPECT_EQ(report.verdict.reason, "timeout");
  EXPECT_THAT(report.verdict.message, AllOf(HasSubstr("still running"), HasSubstr("\"cooperative\": true")));
}

TEST(Perturbation, AFaultOfTheDisturbanceItselfIsTheRigs) {
  for (const DeviceFault::Kind kind : {DeviceFault::Kind::kLost, DeviceFault::Kind::kOutOfMemory}) {
    DeviceFault own{kind, "no room for what disturbs"};
    own.ours = true;
    HostDeviceOptions options = fakes::toy_device();
    options.inject = [own](std::string_view verb) {
      return verb == "run_disturbed" ? std::optional(own) : std::nullopt;
    };
    const auto device = make_host_device(std::move(options));
    std::vector<Phase> phases;
    const auto report =
        run_check(*device, toy_check("good", {toy_case(3, 8)}), [&](Phase phase) { phases.push_back(phase); });
    ASSERT_FALSE(report) << report->verdict.message;
    EXPECT_EQ(report.error().kind, Fault::Kind::kRig);
    EXPECT_EQ(report.error().reason, to_string(kind));
    EXPECT_THAT(report.error().what, HasSubstr("no room for what disturbs"));
    EXPECT_EQ(phases.back(), Phase::kRig);
  }
}

TEST(Perturbation, ComparesBitsWhereTheSpecPromisesDeterminism) {
  const auto other_bits = [](const HostLaunch& launch, const Disturbance&) {
    first_output(launch) = std::nextafter(first_output(launch), 1e30F);
    return OrFault<void>{};
  };
  Job job = toy_check("candidate", {toy_case(3, 8)});
  EXPECT_TRUE(report_of(job, device_with(other_bits)).verdict.passed);
  job.deterministic = true;
  const Verdict verdict = report_of(job, device_with(other_bits)).verdict;
  EXPECT_EQ(verdict.gate, Gate::kPerturbation);
  EXPECT_EQ(verdict.reason, "not_repeatable");
}

TEST(Perturbation, AConfirmationDisturbsMoreCasesInMoreWays) {
  const auto disturbances = [](Job::Kind kind) {
    auto seen = std::make_shared<std::multiset<double>>();
    Job job = toy_check("candidate", {toy_case(3, 8), toy_case(4, 8), toy_case(5, 8), toy_case(6, 8), toy_case(7, 8)});
    job.kind = kind;
    const CheckReport report = report_of(job, device_with([&](const HostLaunch&, const Disturbance& disturbance) {
                                           seen->insert(disturbance.held_share);
                                           return OrFault<void>{};
                                         }));
    EXPECT_TRUE(report.verdict.passed) << report.verdict.message;
    return *seen;
  };
  EXPECT_EQ(disturbances(Job::Kind::kCheck), (std::multiset<double>{0.5, 0.95}));
  EXPECT_EQ(disturbances(Job::Kind::kConfirm).size(), 16u);
  EXPECT_EQ(disturbances(Job::Kind::kConfirm).count(0.0), 4u);  // pauses alone
}

TEST(Perturbation, ChoosesTheSmallestAndTheLargestGridThatFits) {
  Job job = toy_check("good", {toy_case(5, 16), toy_case(1, 4), toy_case(5, 1 << 22), toy_case(3, 8), toy_case(0, 8)});
  for (ResolvedPlan& plan : job.arms[0].plans) {
    for (Launch& launch : plan.launches) {
      launch.grid[0] = plan.of.value.starts_with("check/M=1,") ? 1 : 4;
    }
  }
  const auto points = points_to_disturb(job, "cuda");
  ASSERT_EQ(points.size(), 2u);
  EXPECT_EQ(points[0]->case_index, 3);  // M=1 is a single block, M=0 launches nothing, 5 x 2^22 is too large
  EXPECT_EQ(points[1]->case_index, 0);
  EXPECT_EQ(points_to_disturb(job, "emulator").size(), 1u);
}

TEST(Perturbation, DisturbedLaunchesAreTheCandidates) {
  std::vector<Phase> phases;
  const auto device = make_host_device(device_with([&](const HostLaunch&, const Disturbance&) {
    EXPECT_EQ(phases.back(), Phase::kCandidate);
    return OrFault<void>{};
  }));
  const auto report =
      run_check(*device, toy_check("candidate", {toy_case(3, 8)}), [&](Phase p) { phases.push_back(p); });
  EXPECT_TRUE(report && report->verdict.passed);
  EXPECT_EQ(phases.back(), Phase::kRig);
}

}  // namespace
}  // namespace kf
