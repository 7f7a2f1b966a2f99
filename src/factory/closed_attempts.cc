// SPDX-License-Identifier: Apache-2.0
#include "closed_attempts.h"

#include <algorithm>

namespace kf {

void ClosedAttempts::append(Attempt attempt) {
  if (known_->size() == known_->capacity()) {  // views may hold the old one: it is copied, and lives as long as they do
    constexpr std::size_t kFirst = 256;
    auto larger = std::make_shared<std::vector<Attempt>>();
    larger->reserve(std::max(kFirst, 2 * known_->size()));
    larger->assign(known_->begin(), known_->end());
    known_ = std::move(larger);
  }
  known_->push_back(std::move(attempt));
}

void ClosedAttempts::add(Attempt attempt) {
  if (attempt.id.value != std::ssize(*known_) + 1) {
    ahead_.emplace(attempt.id.value, std::move(attempt));
    return;
  }
  append(std::move(attempt));
  while (!ahead_.empty() && ahead_.begin()->first == std::ssize(*known_) + 1) {
    append(std::move(ahead_.extract(ahead_.begin()).mapped()));
  }
}

VisibleAttempts ClosedAttempts::up_to(std::int64_t last) const {
  return {known_, static_cast<std::size_t>(std::clamp<std::int64_t>(last, 0, std::ssize(*known_)))};
}

std::vector<Attempt> ClosedAttempts::take() {
  std::vector<Attempt> all = std::move(*known_);
  for (auto& [id, attempt] : ahead_) {
    all.push_back(std::move(attempt));
  }
  known_ = std::make_shared<std::vector<Attempt>>();
  ahead_.clear();
  return all;
}

}  // namespace kf
