// SPDX-License-Identifier: Apache-2.0
#include <kfactory/measurement.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <optional>

namespace kf {
namespace {

// Below six values no pair of order statistics covers the median with 95 %: 1 - 2^(1-n) < 0.95.
constexpr std::int64_t kFewest = 6;

double middle(const std::vector<double>& sorted) {
  const std::size_t n = sorted.size();
  return n % 2 == 1 ? sorted[n / 2] : 0.5 * (sorted[n / 2 - 1] + sorted[n / 2]);
}

// Of n!. std::lgamma leaves the sign in a variable of the whole process, and several attempts are scored at once.
double log_factorial(double n) {
  int sign = 0;
  return ::lgamma_r(n + 1, &sign);
}

// The largest k for which [x_(k), x_(n+1-k)] covers the median with at least 95 %: P(Binomial(n, 1/2) < k) <= 2.5 %.
// 0: there is none.
std::size_t order_statistic(std::size_t n) {
  const double count = static_cast<double>(n);
  double below = 0;
  std::size_t k = 0;
  for (std::size_t i = 0; i < n; ++i) {
    const double at = static_cast<double>(i);
    below += std::exp(log_factorial(count) - log_factorial(at) - log_factorial(count - at) - count * std::log(2.0));
    if (below > 0.025) {
      break;
    }
    k = i + 1;
  }
  return k;
}

// One value a quad: log of (a's launches / b's launches), each the geometric mean of its launches, so that a drift
// that is linear within the palindrome cancels. Quads that lack an arm do not count.
std::vector<double> log_ratios(const CaseTiming& timing, int arm_a, int arm_b) {
  struct Sum {
    double log = 0;
    int count = 0;
  };
  std::map<std::int32_t, std::pair<Sum, Sum>> quads;
  for (const Sample& sample : timing.samples) {
    if (sample.nanoseconds <= 0) {
      continue;
    }
    const double log = std::log(sample.nanoseconds);
    auto& [a, b] = quads[sample.quad];
    if (sample.arm == arm_a) {
      a.log += log, ++a.count;
    }
    if (sample.arm == arm_b) {
      b.log += log, ++b.count;
    }
  }
  std::vector<double> ratios;
  for (const auto& [quad, sums] : quads) {
    const auto& [a, b] = sums;
    if (a.count > 0 && b.count > 0) {
      ratios.push_back(a.log / a.count - b.log / b.count);
    }
  }
  return ratios;
}

}  // namespace

bool control_differs(const CaseTiming& timing, double margin) {
  for (std::size_t again = 0; again < timing.arms.size(); ++again) {
    const std::string& name = timing.arms[again];
    if (!name.ends_with(kAgainSuffix)) {
      continue;
    }
    const auto first = std::ranges::find(timing.arms, name.substr(0, name.size() - kAgainSuffix.size()));
    if (first == timing.arms.end()) {
      continue;
    }
    const Interval same =
        ratio_interval(timing, static_cast<int>(again), static_cast<int>(first - timing.arms.begin()));
    const bool differs = same.samples >= kFewest && (same.low > 1.0 || same.high < 1.0);
    if (differs && std::abs(same.median - 1.0) > margin) {
      return true;
    }
  }
  return false;
}

Interval median_interval(std::vector<double> values) {
  Interval interval;
  interval.samples = static_cast<std::int64_t>(values.size());
  if (values.empty()) {
    return interval;
  }
  std::ranges::sort(values);
  const std::size_t k = order_statistic(values.size());
  interval.median = middle(values);
  interval.low = values[k == 0 ? 0 : k - 1];
  interval.high = values[values.size() - std::max<std::size_t>(k, 1)];
  return interval;
}

Interval ratio_interval(const CaseTiming& timing, int arm_a, int arm_b) {
  Interval interval = median_interval(log_ratios(timing, arm_a, arm_b));
  if (interval.samples > 0) {
    interval.median = std::exp(interval.median);
    interval.low = std::exp(interval.low);
    interval.high = std::exp(interval.high);
  }
  return interval;
}

Comparison compare_arms(const CaseTiming& timing, int candidate, int other, double margin) {
  if (control_differs(timing, margin)) {
    return Comparison::kRefused;
  }
  const Interval ratio = ratio_interval(timing, candidate, other);
  const bool estimate = timing.method == ClockMethod::kEstimate && ratio.samples > 0;  // no noise: one value is all
  if (ratio.samples < kFewest && !estimate) {
    return Comparison::kInconclusive;
  }
  if (ratio.high < 1.0 - margin) {
    return Comparison::kWin;
  }
  if (ratio.low > 1.0 + margin) {
    return Comparison::kLoss;
  }
  return ratio.low >= 1.0 - margin && ratio.high <= 1.0 + margin ? Comparison::kTie : Comparison::kInconclusive;
}

double geomean(const std::vector<double>& positive) {
  double log = 0;
  for (const double value : positive) {
    log += std::log(value);
  }
  return positive.empty() ? 0.0 : std::exp(log / static_cast<double>(positive.size()));
}

}  // namespace kf
