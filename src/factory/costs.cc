// SPDX-License-Identifier: Apache-2.0
#include "costs.h"

#include <algorithm>

namespace kf {

std::chrono::steady_clock::time_point CostLog::now() const {
  return clock_ == nullptr ? std::chrono::steady_clock::time_point() : clock_->now();
}

double CostLog::since(std::chrono::steady_clock::time_point start) const {
  return std::chrono::duration<double, std::milli>(now() - start).count();
}

void CostLog::add(Cost cost) {
  const std::lock_guard lock(mutex_);
  const auto known = std::ranges::find(costs_, cost.step, &Cost::step);
  if (known == costs_.end()) {
    costs_.push_back(std::move(cost));
    return;
  }
  known->milliseconds += cost.milliseconds;
  known->count += cost.count;
}

void CostLog::add_inside(std::string_view job, const std::vector<Cost>& costs) {
  for (const Cost& cost : costs) {
    add({std::string(job) + ": " + cost.step, cost.milliseconds, cost.count});
  }
}

std::vector<Cost> CostLog::all() const {
  const std::lock_guard lock(mutex_);
  return costs_;
}

}  // namespace kf
