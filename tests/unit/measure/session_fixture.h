// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <set>

#include "measure/session.h"
#include "tests/fakes/toy_operation.h"

// What the tests of timing sessions share.

namespace kf {

// Advances by a step at each look.
class StepClock final : public Clock {
 public:
  explicit StepClock(std::chrono::microseconds step = std::chrono::microseconds(10)) : step_(step) {}
  std::chrono::steady_clock::time_point now() const override { return now_ += step_; }
  std::string utc() const override { return ""; }
  bool sleep(std::chrono::milliseconds, std::stop_token) override { return true; }

 private:
  std::chrono::microseconds step_;
  mutable std::chrono::steady_clock::time_point now_;
};

inline std::expected<TimeReport, Fault> timed(const Job& job, fakes::HostDeviceOptions options = fakes::toy_device(),
                                              std::chrono::microseconds step = std::chrono::microseconds(1)) {
  const auto device = make_host_device(std::move(options));
  return run_time(*device, job, StepClock(step), [](bool) {});
}
inline TimeReport report_of(const Job& job, fakes::HostDeviceOptions options = fakes::toy_device()) {
  auto report = timed(job, std::move(options));
  EXPECT_TRUE(report.has_value()) << report.error().what;
  return report ? *report : TimeReport{};
}
inline int arm_of(const CaseTiming& timing, const std::string& name) {
  return static_cast<int>(std::ranges::find(timing.arms, name) - timing.arms.begin());
}
// Times by arm, as a machine without noise would give them.
inline fakes::HostDeviceOptions with_times(std::vector<double> by_arm) {
  fakes::HostDeviceOptions options = fakes::toy_device();
  options.nanoseconds = [by_arm](const Slot& slot, std::int64_t) {
    return by_arm.at(static_cast<std::size_t>(slot.arm));
  };
  return options;
}
inline Job with_control(std::int32_t quads) {
  Job job = fakes::toy_time({"good", "naive"}, {fakes::toy_case(3, 8)});
  job.control_quads = quads;
  job.min_quads = job.max_quads = 12;
  return job;
}

}  // namespace kf
