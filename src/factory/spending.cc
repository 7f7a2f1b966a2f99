// SPDX-License-Identifier: Apache-2.0
#include <algorithm>

#include "records.h"

namespace kf {
namespace {

std::optional<std::int64_t> plus(const std::optional<std::int64_t>& a, const std::optional<std::int64_t>& b) {
  return a && b ? std::optional(*a + *b) : a ? a : b;
}

// Where one of them was told and the other was not, the estimate of the other stands in for it.
std::optional<std::int64_t> known_or_estimated(const std::optional<std::int64_t>& a, std::int64_t estimated_a,
                                               const std::optional<std::int64_t>& b, std::int64_t estimated_b) {
  return a || b ? std::optional(a.value_or(estimated_a) + b.value_or(estimated_b)) : std::nullopt;
}

// "$0.0123": down to a nanodollar, without zeros that say nothing.
std::string dollars_text(std::int64_t nanodollars) {
  constexpr std::int64_t kDollar = 1'000'000'000;
  std::string share = std::to_string(kDollar + nanodollars % kDollar).substr(1);
  share.erase(std::max<std::size_t>(share.find_last_not_of('0') + 1, 2));
  return "$" + std::to_string(nanodollars / kDollar) + "." + share;
}

}  // namespace

Usage operator+(const Usage& a, const Usage& b) {
  Usage sum;
  sum.input_tokens =
      known_or_estimated(a.input_tokens, a.estimated_input_tokens, b.input_tokens, b.estimated_input_tokens);
  sum.cached_tokens = plus(a.cached_tokens, b.cached_tokens);
  sum.output_tokens =
      known_or_estimated(a.output_tokens, a.estimated_output_tokens, b.output_tokens, b.estimated_output_tokens);
  sum.reasoning_tokens = plus(a.reasoning_tokens, b.reasoning_tokens);
  sum.estimated_input_tokens = a.estimated_input_tokens + b.estimated_input_tokens;
  sum.estimated_output_tokens = a.estimated_output_tokens + b.estimated_output_tokens;
  sum.cost_nanodollars = plus(a.cost_nanodollars, b.cost_nanodollars);
  sum.retried_tokens = a.retried_tokens + b.retried_tokens;
  sum.raw_json = b.raw_json.empty() ? a.raw_json : b.raw_json;
  return sum;
}

std::int64_t tokens_of(const Usage& usage) {
  return usage.input_tokens.value_or(usage.estimated_input_tokens) +
         usage.output_tokens.value_or(usage.estimated_output_tokens) + usage.retried_tokens;
}

void Spending::limit(const Budget& budget) {
  const std::lock_guard lock(mutex_);
  most_tokens_ = budget.tokens;
  most_nanodollars_ = budget.cost_nanodollars;
}

void Spending::add(const Usage& usage) {
  const std::lock_guard lock(mutex_);
  total_ = total_ + usage;
}

Usage Spending::total() const {
  const std::lock_guard lock(mutex_);
  return total_;
}

std::string Spending::refusal(const Usage& under_way) const {
  const std::lock_guard lock(mutex_);
  const Usage all = total_ + under_way;
  const std::int64_t tokens = tokens_of(all);
  const std::int64_t cost = all.cost_nanodollars.value_or(0);
  if (most_tokens_ > 0 && tokens >= most_tokens_) {
    return "tokens: " + std::to_string(tokens) + " of " + std::to_string(most_tokens_);
  }
  if (most_nanodollars_ > 0 && cost >= most_nanodollars_) {
    return "cost: " + dollars_text(cost) + " of " + dollars_text(most_nanodollars_);
  }
  return {};
}

}  // namespace kf
