// SPDX-License-Identifier: Apache-2.0
#include "cli/reports.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace kf {
namespace {

using testing::HasSubstr;
using testing::Not;

DeviceFacts gpu() {
  DeviceFacts facts;
  facts.kind = "cuda";
  facts.name = "NVIDIA B200";
  facts.arch = "sm_100a";
  return facts;
}

TEST(Reports, SayWhyThereIsNoEmulatorBeforeTheGpu) {
  const DeviceFacts facts = gpu();
  const std::string why = "no target of the emulator has sm_100a: candidates go to the GPU at once";
  const std::string note = "\"note\":\"" + why + "\"";
  const Spec spec;
  EXPECT_THAT(eval_report(spec, "a.cu", "", {}, {facts, why}), HasSubstr(note));
  EXPECT_THAT(check_report(spec, {}, {facts, why}), HasSubstr(note));
  EXPECT_THAT(bench_report(spec, {}, {facts, why}), HasSubstr(note));
  EXPECT_THAT(run_report({}, "out", {facts, why}, 0, ""), HasSubstr(note));
  EXPECT_THAT(eval_report(spec, "a.cu", "", {}, {facts}), Not(HasSubstr("\"note\"")));
}

TEST(Reports, SayOfEachStepWhichLaunchesItIsAbout) {
  const DeviceFacts facts = gpu();
  Evaluation evaluation;
  for (const Launches of : {Launches::kNone, Launches::kEmulatorFirst, Launches::kFewCases, Launches::kTheRest}) {
    evaluation.steps.emplace_back().of = of;
  }
  const std::string text = eval_report(Spec{}, "a.cu", "", evaluation, {facts});
  const std::size_t first = text.find("\"of\":\"emulator_first\""), second = text.find("\"of\":\"few_cases\""),
                    third = text.find("\"of\":\"the_rest\"");
  EXPECT_TRUE(first < second && second < third && third != std::string::npos) << text;
  EXPECT_EQ(text.find("\"of\":\"\""), std::string::npos);
}

TEST(Reports, NameNoDeviceWhereNoneWasOpened) {
  EXPECT_THAT(bench_report(Spec{}, {}, {DeviceFacts{}}), HasSubstr("\"device\":null,\"winners\":[]"));
}

}  // namespace
}  // namespace kf
