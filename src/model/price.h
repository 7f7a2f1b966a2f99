// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

#include <kfactory/model.h>

#include "config.h"

namespace kf {

// A quarter of the bytes, rounded up: near enough for budgets, and always marked as an estimate.
std::int64_t estimated_tokens(std::size_t bytes);

// The first entry that fits the model's name; null: the price is unknown.
const Price* find_price(const std::vector<Price>& prices, std::string_view model);

// Nanodollars, rounded up. Counts that the server did not give are taken from the estimates.
std::int64_t cost_of(const Usage& usage, const Price& price);

}  // namespace kf
