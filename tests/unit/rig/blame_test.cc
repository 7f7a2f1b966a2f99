// SPDX-License-Identifier: Apache-2.0
#include "rig/blame.h"

#include <gtest/gtest.h>

namespace kf {
namespace {

using std::chrono::seconds;
const Blame::Time kStart{};

TEST(Blame, FallsOnWhoeverRanWhenItHappened) {
  Blame blame(kStart);
  EXPECT_EQ(blame.at_once("crash", "").kind, Fault::Kind::kRig);
  blame.enter(true, kStart + seconds(1));
  EXPECT_EQ(blame.at_once("crash", "").kind, Fault::Kind::kCandidate);
  blame.enter(false, kStart + seconds(2));
  EXPECT_EQ(blame.at_once("crash", "").kind, Fault::Kind::kRig);
}

TEST(Blame, ForADeadlineFallsOnWhoeverHadMostOfTheTime) {
  Blame blame(kStart);
  blame.enter(true, kStart + seconds(1));
  blame.enter(false, kStart + seconds(9));
  EXPECT_EQ(blame.at_deadline("", kStart + seconds(10)).kind, Fault::Kind::kCandidate);
  EXPECT_EQ(blame.at_deadline("", kStart + seconds(10)).reason, "timeout");
  EXPECT_EQ(blame.at_deadline("", kStart + seconds(30)).kind, Fault::Kind::kRig);
  blame.enter(true, kStart + seconds(29));
  EXPECT_EQ(blame.at_deadline("", kStart + seconds(30)).kind, Fault::Kind::kCandidate);
}

TEST(Blame, SaysWhere) {
  Blame blame(kStart);
  blame.enter(true, kStart);
  EXPECT_EQ(blame.at_once("crash", "it ended").what, "it ended while the candidate's kernels ran");
}

}  // namespace
}  // namespace kf
