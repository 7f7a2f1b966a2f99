// SPDX-License-Identifier: Apache-2.0
// Why an admission has no report, and whether that is the spec's fault.
#include "factory/spec_check.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "fakes.h"

namespace kf {
namespace {

using testing::HasSubstr;

class Admitting : public testing::Test {
 protected:
  Admission admitted(std::stop_token stop = {}) { return admit(factory_of(spec_, compiler_, rig_, clock_), 2, stop); }
  SpecCheck checked() { return check_spec(factory_of(spec_, compiler_, rig_, clock_), 2, {}); }
  Spec spec_ = small_spec();
  FakeCompiler compiler_;
  FakeRig rig_{gpu_facts()};
  HandClock clock_;
};

TEST_F(Admitting, HasAReportWhereItRan) {
  const Admission admission = admitted();
  ASSERT_TRUE(admission.report) << admission.why_not;
  EXPECT_TRUE(admission.report->admitted);
  EXPECT_EQ(admission.not_run, NotRun::kNo);
}

TEST_F(Admitting, WithoutABaselineTheSpecHasToChange) {
  spec_.baselines.clear();
  EXPECT_FALSE(admitted().report);
  EXPECT_EQ(admitted().not_run, NotRun::kSpec);
  EXPECT_THAT(admitted().why_not, HasSubstr("no CUDA baseline"));
  EXPECT_EQ(checked().admission.not_run, NotRun::kSpec);
}

TEST_F(Admitting, ABaselineThatDoesNotBuildIsTheSpecsFault) {
  spec_.baselines.front().source.content += "// DOES_NOT_COMPILE\n";
  EXPECT_EQ(admitted().not_run, NotRun::kSpec);
  EXPECT_THAT(admitted().why_not, HasSubstr("was refused"));
}

TEST_F(Admitting, AFaultOfTheRigSaysNothingOfTheSpec) {
  spec_.baselines.front().source.content += "// LOSES_DEVICE!\n";
  const Admission admission = admitted();
  EXPECT_FALSE(admission.report);
  EXPECT_EQ(admission.not_run, NotRun::kRig);
  EXPECT_EQ(admission.why_not, "vanished: the worker is gone");
  const SpecCheck check = checked();
  EXPECT_EQ(check.admission.not_run, NotRun::kRig);
  EXPECT_FALSE(check.admission.report);
}

TEST_F(Admitting, WithoutADeviceThereIsNothingToAdmitOn) {
  Factory factory = factory_of(spec_, compiler_, rig_, clock_);
  factory.rig = nullptr;
  EXPECT_EQ(admit(factory, 2, {}).not_run, NotRun::kNoDevice);
}

TEST_F(Admitting, AnInterruptionIsNoFaultOfTheRig) {
  spec_.baselines.front().source.content += "// LOSES_DEVICE!\n";
  std::stop_source stop;
  rig_.before = [&](const Job&) { stop.request_stop(); };
  EXPECT_EQ(admitted(stop.get_token()).not_run, NotRun::kInterrupted);
}

}  // namespace
}  // namespace kf
