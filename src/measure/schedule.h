// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cstdint>
#include <vector>

#include <kfactory/measurement.h>

namespace kf {

// Pure decisions of a session: orders, how many buffer sets, which launches are verified, when to stop.

// A palindrome over the arms in random order: a b c c b a. Linear drift cancels within it.
std::vector<std::int32_t> palindrome(const std::vector<std::int32_t>& arms, std::uint64_t seed);

// Sets of buffers that launches rotate over, at least 1.
struct Rotation {
  std::int64_t sets = 1;
  bool limited_by_memory = false;
};
// One for each launch of a quad where memory allows (each launch then has contents of its own, all made before the
// batch); in the steady state enough that three L2 sizes pass before an address comes again. One, made anew between
// launches, where a set is above eight times the L2.
Rotation rotation_for(std::int64_t set_bytes, std::int64_t l2_bytes, std::int64_t budget_bytes, std::int64_t slots,
                      CacheState state);

// Which launches are verified, drawn from a seed that no kernel can see: for each arm one of its two launches in one
// of the first `min_quads` quads, and for arm 0 one quad in eight besides.
class VerificationPlan {
 public:
  VerificationPlan(std::int32_t arms, std::int32_t min_quads, std::uint64_t seed);
  bool verifies(std::int32_t arm, std::int32_t quad, std::int32_t occurrence) const;

 private:
  struct Choice {
    std::int32_t quad = 0, occurrence = 0;
  };
  std::vector<Choice> choices_;
  std::uint64_t seed_;
};

// Half the width of the interval of log(a / b).
double log_half_width(const Interval& ratio);
// Sign-blind: looks at widths only, of every comparison that will be decided (arm 0 with each rival, each control with
// its original).
bool narrow_enough(const CaseTiming& timing, const std::vector<std::pair<int, int>>& pairs, double target_half_width);

}  // namespace kf
