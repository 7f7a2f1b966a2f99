// SPDX-License-Identifier: Apache-2.0
#include "measure/profile.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <functional>

#include "tests/fakes/toy_operation.h"

namespace kf {
namespace {

using testing::AllOf;
using testing::HasSubstr;

using Inject = std::function<std::optional<DeviceFault>(std::string_view verb)>;

// Of two cases whose counters are read.
std::expected<Profile, Fault> profiled(const Inject& inject, const std::string& entry = "good") {
  fakes::HostDeviceOptions options = fakes::toy_device();
  options.count = [](const CountRequest&) -> OrFault<Map<double>> { return Map<double>{{"dram__bytes.sum", 1.0}}; };
  options.inject = inject;
  Job job = fakes::toy_time({entry}, {fakes::toy_case(3, 8), fakes::toy_case(5, 16)});
  job.kind = Job::Kind::kProfile;
  job.counters = {"dram__bytes.sum"};
  const auto device = make_host_device(std::move(options));
  return run_profile(*device, job, [](bool) {});
}

TEST(Profile, HasTheCountersOfEachCase) {
  const auto profile = profiled({});
  ASSERT_TRUE(profile);
  EXPECT_EQ(profile->refused, "");
  ASSERT_EQ(profile->cases.size(), 2u);
  EXPECT_EQ(profile->cases[1].values.at("dram__bytes.sum"), 1.0);
}

TEST(Profile, AFaultOfALaunchThatIsCountedIsNoVerdict) {
  for (const DeviceFault::Kind kind :
       {DeviceFault::Kind::kIllegalAccess, DeviceFault::Kind::kTimeout, DeviceFault::Kind::kLaunchRefused}) {
    const auto profile = profiled([kind](std::string_view verb) {
      return verb == "count" ? std::optional(DeviceFault{kind, "replay went wrong"}) : std::nullopt;
    });
    ASSERT_TRUE(profile) << profile.error().what;
    EXPECT_TRUE(profile->cases.empty());
    EXPECT_THAT(profile->refused, AllOf(HasSubstr("M=3"), HasSubstr("replay went wrong")));
  }
  const auto refused = profiled({}, "refused");
  ASSERT_TRUE(refused);
  EXPECT_THAT(refused->refused, HasSubstr("the device refused the launch"));
}

TEST(Profile, AFaultBeforeAPassIsTheRigs) {
  for (const std::string_view own : {"scrub_shared", "fill", "poison"}) {
    for (const DeviceFault::Kind kind : {DeviceFault::Kind::kLost, DeviceFault::Kind::kTimeout}) {
      const auto profile = profiled([own, kind](std::string_view verb) {
        return verb == own ? std::optional(DeviceFault{kind, "our own work failed"}) : std::nullopt;
      });
      ASSERT_FALSE(profile) << own;
      EXPECT_EQ(profile.error().kind, Fault::Kind::kRig);
      EXPECT_EQ(profile.error().reason, to_string(kind));
      EXPECT_THAT(profile.error().what, HasSubstr("our own work failed"));
    }
  }
}

TEST(Profile, SaysInTheDevicesWordsWhyItMayNotCount) {
  const auto profile = profiled([](std::string_view verb) {
    return verb == "count" ? std::optional(DeviceFault{DeviceFault::Kind::kUnsupported, "not permitted here"})
                           : std::nullopt;
  });
  ASSERT_TRUE(profile);
  EXPECT_EQ(profile->refused, "not permitted here");
}

}  // namespace
}  // namespace kf
