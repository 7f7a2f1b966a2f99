// SPDX-License-Identifier: Apache-2.0
// Workspaces, families, and faults that are nobody's but the rig's.
#include "check_fixture.h"

namespace kf {
namespace {

using fakes::HostDeviceOptions;
using fakes::toy_case;
using fakes::toy_check;
using testing::HasSubstr;

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

}  // namespace
}  // namespace kf
