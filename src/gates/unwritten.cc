// SPDX-License-Identifier: Apache-2.0
#include "gates/unwritten.h"

#include <algorithm>
#include <cmath>

namespace kf {
namespace {

// Chernoff's bound on the chance that at least `hits` of `trials` happen, each with probability `p`.
double at_least(double hits, double trials, double p) {
  const double share = hits / trials;
  if (share <= p) {
    return 1.0;
  }
  const double rest = share < 1.0 ? (1.0 - share) * std::log((1.0 - share) / (1.0 - p)) : 0.0;
  return std::exp(-trials * (share * std::log(share / p) + rest));
}

// What one element is assumed to do before anything was measured: half of the poison's bytes are one of two values.
double prior(Dtype dtype) {
  constexpr double kNanPayloads = 127.0;  // of bfloat16 and float16 in the poison
  return size_in_bytes(dtype) == 1 || !is_floating(dtype) ? 0.5 : 1.0 / kNanPayloads;
}

}  // namespace

bool poison_by_chance(Dtype dtype) {
  return size_in_bytes(dtype) <= 2;
}

bool really_unwritten(const Mismatch& found, Dtype dtype, std::int64_t others) {
  if (found.unwritten == 0 || !poison_by_chance(dtype)) {
    return found.unwritten > 0;
  }
  constexpr double kPriorWeight = 2.0;
  constexpr double kAllOfThem = 0.01, kSomeOfThem = 1e-4;  // a few among many wrong ones need more to be believed
  const auto wrong = static_cast<double>(found.wrong);
  const double p = (static_cast<double>(others) + kPriorWeight * prior(dtype)) / (kOtherPoisons * wrong + kPriorWeight);
  return at_least(static_cast<double>(found.unwritten), wrong, std::min(p, 1.0)) <
         (found.unwritten == found.wrong ? kAllOfThem : kSomeOfThem);
}

}  // namespace kf
