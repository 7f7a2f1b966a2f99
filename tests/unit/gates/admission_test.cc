// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>

#include "gates/gates.h"
#include "tests/fakes/toy_operation.h"

namespace kf {
namespace {

using fakes::toy_case;
using testing::HasSubstr;

Job admission(const std::string& baseline = "naive") {
  Job job = fakes::toy_check(baseline, {toy_case(5, 16, 20), toy_case(3, 8)});
  job.kind = Job::Kind::kAdmit;
  job.arms[0].name = "naive";
  return job;
}
AdmissionReport admit(const Job& job, fakes::HostDeviceOptions options = fakes::toy_device()) {
  const auto device = make_host_device(std::move(options));
  auto report = run_admission(*device, job, [](Phase) {});
  EXPECT_TRUE(report.has_value()) << report.error().what;
  return report ? *report : AdmissionReport{};
}
const AdmissionRow* row(const AdmissionReport& report, std::string_view part) {
  const auto found =
      std::ranges::find_if(report.rows, [&](const AdmissionRow& r) { return r.name.find(part) != std::string::npos; });
  return found == report.rows.end() ? nullptr : &*found;
}

TEST(Admission, AdmitsASpecThatCanTellRightFromWrong) {
  const AdmissionReport report = admit(admission());
  EXPECT_TRUE(report.admitted);
  for (const AdmissionRow& r : report.rows) {
    EXPECT_TRUE(r.ok) << r.name << ": " << r.found;
  }
  for (const char* part : {"baseline naive", "nothing written", "zeros", "ones", "a constant", "the reference's mean",
                           "a copy of x", "another seed's answer", "input x", "input w", "input a"}) {
    EXPECT_NE(row(report, part), nullptr) << part;
  }
  EXPECT_EQ(row(report, "a copy of w"), nullptr);  // has another shape
}

TEST(Admission, RefusesASpecWhoseBaselineFails) {
  const AdmissionReport report = admit(admission("half_rows"));
  EXPECT_FALSE(report.admitted);
  ASSERT_NE(row(report, "baseline"), nullptr);
  EXPECT_THAT(row(report, "baseline")->found, HasSubstr("unwritten"));
}

TEST(Admission, RefusesABoundThatZerosPass) {
  Job job = admission();
  job.bounds["y"].acc = 1e9;
  const AdmissionReport report = admit(job);
  EXPECT_FALSE(report.admitted);
  EXPECT_FALSE(row(report, "zeros")->ok);
  EXPECT_FALSE(row(report, "another seed's answer")->ok);
  EXPECT_TRUE(row(report, "nothing written")->ok);  // NaN is no zero, however wide the bound
}

TEST(Admission, RefusesAnInputThatDoesNotMatter) {
  fakes::HostDeviceOptions options = fakes::toy_device();
  options.kernels["naive"] = options.kernels["ignores_w"];
  options.kernels["reference"] = [reference = options.kernels["reference"]](const fakes::HostLaunch& launch) {
    fakes::HostLaunch without = launch;
    std::vector<float> zero(64, 0.0F);
    without.pointers[1] = zero.data();
    return reference(without);
  };
  const AdmissionReport report = admit(admission(), options);
  EXPECT_FALSE(report.admitted);
  EXPECT_FALSE(row(report, "input w")->ok);
  EXPECT_TRUE(row(report, "input x")->ok);
}

TEST(Admission, RefusesAScalarThatDoesNotMatter) {
  const AdmissionReport report = admit(admission("ignores_a"));
  EXPECT_FALSE(row(report, "input a")->ok);
  EXPECT_THAT(row(report, "input a")->found, HasSubstr("may ignore it"));
}

TEST(Admission, SaysWhenAnInputCouldNotBeTried) {
  Job job = admission();
  for (Case& of : job.cases) {
    of.tensors[1].values.assign(static_cast<std::size_t>(of.axes.at("N")), 2);
  }
  const AdmissionReport report = admit(job);
  EXPECT_TRUE(report.admitted);
  EXPECT_THAT(row(report, "input w")->found, HasSubstr("not tried"));
}

TEST(Admission, RefusesAnOperationThatCopies) {
  fakes::HostDeviceOptions options = fakes::toy_device();
  options.kernels["naive"] = options.kernels["copies_x"];
  options.kernels["reference"] = [](const fakes::HostLaunch& launch) -> OrFault<void> {
    const int m = launch.scalar<int>(5), n = launch.scalar<int>(6), ldx = launch.scalar<int>(7);
    for (int i = 0; i < m * n; ++i) {
      launch.pointer<double>(2)[i] = launch.pointer<const float>(0)[i / n * ldx + i % n];
      launch.pointer<double>(3)[i] = 1;
    }
    return {};
  };
  const AdmissionReport report = admit(admission(), options);
  EXPECT_FALSE(row(report, "a copy of x")->ok);
}

TEST(Admission, LooksAtNoFlatFamily) {
  Job job = admission();
  for (CheckPoint& point : job.checks) {
    point.family = "zero";
  }
  const AdmissionReport report = admit(job);
  EXPECT_EQ(row(report, "null candidate"), nullptr);
}

TEST(Admission, BlamesTheRigWhenTheDeviceFails) {
  fakes::HostDeviceOptions options = fakes::toy_device();
  options.inject = [](std::string_view verb) -> std::optional<DeviceFault> {
    return verb == "write" ? std::optional(DeviceFault{DeviceFault::Kind::kLost, "gone"}) : std::nullopt;
  };
  const auto device = make_host_device(std::move(options));
  const auto report = run_admission(*device, admission(), [](Phase) {});
  ASSERT_FALSE(report);
  EXPECT_EQ(report.error().kind, Fault::Kind::kRig);
}

TEST(Admission, NeedsABaseline) {
  Job job = admission();
  job.arms.clear();
  const auto device = make_host_device(fakes::toy_device());
  EXPECT_FALSE(run_admission(*device, job, [](Phase) {}));
}

}  // namespace
}  // namespace kf
