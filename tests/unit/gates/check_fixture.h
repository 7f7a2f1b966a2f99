// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <functional>

#include "gates/gates.h"
#include "tests/fakes/toy_operation.h"

// What the tests of the check gates share.

namespace kf {

inline const PhaseObserver kNobody = [](Phase) {};

inline std::expected<CheckReport, Fault> check(const Job& job, fakes::HostDeviceOptions options = fakes::toy_device()) {
  const auto device = make_host_device(std::move(options));
  return run_check(*device, job, kNobody);
}
inline Verdict verdict_of(const Job& job, fakes::HostDeviceOptions options = fakes::toy_device()) {
  auto report = check(job, std::move(options));
  EXPECT_TRUE(report.has_value()) << report.error().what;
  return report ? report->verdict : Verdict{};
}
inline Verdict verdict_of(const std::string& entry) {
  return verdict_of(fakes::toy_check(entry, {fakes::toy_case(7, 16, 20)}));
}

}  // namespace kf
