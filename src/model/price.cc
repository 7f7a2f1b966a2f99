// SPDX-License-Identifier: Apache-2.0
#include "price.h"

#include <algorithm>
#include <limits>

namespace kf {

std::int64_t estimated_tokens(std::size_t bytes) {
  return static_cast<std::int64_t>((bytes + 3) / 4);
}

const Price* find_price(const std::vector<Price>& prices, std::string_view model) {
  const auto fits = [&](const Price& price) {
    const std::string_view name = price.model;
    return name.ends_with('*') ? model.starts_with(name.substr(0, name.size() - 1)) : model == name;
  };
  const auto found = std::ranges::find_if(prices, fits);
  return found == prices.end() ? nullptr : &*found;
}

std::int64_t cost_of(const Usage& usage, const Price& price) {
  __extension__ using Wide = __int128;
  const std::int64_t input = usage.input_tokens.value_or(usage.estimated_input_tokens);
  const std::int64_t output = usage.output_tokens.value_or(usage.estimated_output_tokens);
  const std::int64_t cached =
      std::clamp<std::int64_t>(usage.cached_tokens.value_or(0), 0, std::max<std::int64_t>(input, 0));
  const Wide millionths = Wide(input - cached + usage.retried_tokens) * price.input +
                          Wide(cached) * price.cached_input.value_or(price.input) + Wide(output) * price.output;
  const Wide cost = (millionths + 999'999) / 1'000'000;
  return static_cast<std::int64_t>(std::min<Wide>(cost, std::numeric_limits<std::int64_t>::max()));
}

}  // namespace kf
