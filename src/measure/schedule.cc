// SPDX-License-Identifier: Apache-2.0
#include "measure/schedule.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "gates/bench.h"

namespace kf {

std::vector<std::int32_t> palindrome(const std::vector<std::int32_t>& arms, std::uint64_t seed) {
  std::vector<std::int32_t> order = arms;
  for (std::size_t i = order.size(); i > 1; --i) {  // Fisher-Yates; std::shuffle's result differs between libraries
    std::swap(order[i - 1], order[derive_seed(seed, i) % i]);
  }
  order.insert(order.end(), order.rbegin(), order.rend());
  return order;
}

Rotation rotation_for(std::int64_t set_bytes, std::int64_t l2_bytes, std::int64_t budget_bytes, std::int64_t slots,
                      CacheState state) {
  constexpr std::int64_t kMostSets = 256;  // smaller tensors than this covers stay warm in the steady state
  const std::int64_t bytes = std::max<std::int64_t>(set_bytes, 1);
  if (bytes > 8 * l2_bytes) {
    return {1, false};
  }
  std::int64_t wanted = std::max<std::int64_t>(slots, 1);
  if (state == CacheState::kSteady) {
    wanted = std::max(wanted, (3 * l2_bytes + bytes - 1) / bytes + 1);
  }
  wanted = std::min(wanted, kMostSets);
  const std::int64_t possible = std::max<std::int64_t>(1, budget_bytes / bytes);
  return {std::min(wanted, possible), possible < wanted};
}

VerificationPlan::VerificationPlan(std::int32_t arms, std::int32_t min_quads, std::uint64_t seed) : seed_(seed) {
  const auto quads = static_cast<std::uint64_t>(std::max(min_quads, 1));
  for (std::int32_t arm = 0; arm < arms; ++arm) {
    const std::uint64_t draw = derive_seed(seed, static_cast<std::uint64_t>(arm));
    choices_.push_back({static_cast<std::int32_t>(draw % quads), static_cast<std::int32_t>(draw >> 32 & 1)});
  }
}

bool VerificationPlan::verifies(std::int32_t arm, std::int32_t quad, std::int32_t occurrence) const {
  const Choice& choice = choices_[static_cast<std::size_t>(arm)];
  if (choice.quad == quad && choice.occurrence == occurrence) {
    return true;
  }
  const std::uint64_t draw =
      derive_seed(seed_, 1'000'000 + 2 * static_cast<std::uint64_t>(quad) + static_cast<std::uint64_t>(occurrence));
  return arm == 0 && draw % 16 == 0;
}

double log_half_width(const Interval& ratio) {
  return ratio.samples == 0 || ratio.low <= 0 ? std::numeric_limits<double>::infinity()
                                              : 0.5 * (std::log(ratio.high) - std::log(ratio.low));
}

bool narrow_enough(const CaseTiming& timing, const std::vector<std::pair<int, int>>& pairs, double target_half_width) {
  return std::ranges::all_of(pairs, [&](const auto& pair) {
    return log_half_width(ratio_interval(timing, pair.first, pair.second)) <= target_half_width;
  });
}

}  // namespace kf
