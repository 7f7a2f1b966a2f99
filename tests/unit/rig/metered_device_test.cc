// SPDX-License-Identifier: Apache-2.0
#include "rig/metered_device.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "os/steady_clock.h"
#include "rig/job_child.h"
#include "tests/fakes/toy_operation.h"

namespace kf {
namespace {

std::int64_t count_of(const std::vector<Cost>& costs, const std::string& step) {
  const auto found = std::ranges::find(costs, step, &Cost::step);
  return found == costs.end() ? 0 : found->count;
}

TEST(MeteredDevice, TellsACandidatesLaunchesFromTheReferences) {
  const auto device = make_host_device(fakes::toy_device());
  const Outcome outcome = perform_job(fakes::toy_check("good", {fakes::toy_case(3, 8)}), *device, [](bool) {});
  const auto* report = std::get_if<CheckReport>(&outcome);
  ASSERT_NE(report, nullptr);
  EXPECT_EQ(count_of(report->costs, "candidate launches") + count_of(report->costs, "disturbed launches"),
            report->verdict.checks);
  EXPECT_GT(count_of(report->costs, "disturbed launches"), 0);
  EXPECT_EQ(count_of(report->costs, "reference launches"), report->verdict.checks);
  EXPECT_GT(count_of(report->costs, "fill and poison"), 0);
  EXPECT_GT(count_of(report->costs, "compare"), 0);
  for (const char* gate : {"gate check", "gate repeat", "gate perturbation"}) {
    EXPECT_EQ(count_of(report->costs, gate), 1) << gate;
  }
}

TEST(MeteredDevice, CountsTimedBatches) {
  const auto device = make_host_device(fakes::toy_device());
  const Outcome outcome =
      perform_job(fakes::toy_time({"good", "naive"}, {fakes::toy_case(3, 8)}), *device, [](bool) {});
  const auto* report = std::get_if<TimeReport>(&outcome);
  ASSERT_NE(report, nullptr);
  EXPECT_GT(count_of(report->costs, "timed batches"), 0);
}

}  // namespace
}  // namespace kf
