// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include "ledger/run_info.h"
#include "tests/fakes/damage.h"

namespace kf {
namespace {

TEST(DamagedRunJson, IsAnErrorOrARun) {
  RunInfo info;
  info.spec_name = "rmsnorm_fwd";
  info.started = "2026-11-30T12:38:35Z";
  info.device.name = "NVIDIA H200";
  const std::string good = run_json(info);
  ASSERT_TRUE(run_info_from_json(good));
  test::Damage damage(17);
  int refused = 0;
  for (int round = 0; round < 3000; ++round) {
    const auto read = run_info_from_json(damage(good));
    refused += read ? 0 : 1;
    ASSERT_TRUE(read || !read.error().what.empty());
  }
  EXPECT_GT(refused, 500);
}

}  // namespace
}  // namespace kf
