// SPDX-License-Identifier: Apache-2.0
#include "model/price.h"

#include <gtest/gtest.h>

namespace kf {
namespace {

const Price kPrice{.model = "m-*", .input = 1'250'000'000, .output = 10'000'000'000, .cached_input = 125'000'000};

TEST(Price, IsExactInNanodollars) {
  Usage usage;
  usage.input_tokens = 1'000;
  usage.cached_tokens = 600;
  usage.output_tokens = 10;
  EXPECT_EQ(cost_of(usage, kPrice), 400 * 1250 + 600 * 125 + 10 * 10'000);
}
TEST(Price, RoundsUp) {
  Usage usage;
  usage.input_tokens = 1;
  usage.output_tokens = 0;
  EXPECT_EQ(cost_of(usage, Price{"m", 1, 0, {}}), 1);
}
TEST(Price, TakesEstimatesWhereNothingWasSaidAndAddsEarlierTries) {
  Usage usage;
  usage.estimated_input_tokens = 100;
  usage.estimated_output_tokens = 10;
  usage.retried_tokens = 7;
  EXPECT_EQ(cost_of(usage, kPrice), 107 * 1250 + 10 * 10'000);
}
TEST(Price, DoesNotOverflow) {
  Usage usage;
  usage.input_tokens = 9'000'000'000'000'000;
  usage.output_tokens = 9'000'000'000'000'000;
  EXPECT_EQ(cost_of(usage, kPrice), INT64_MAX);
}
TEST(Price, BelongsToANameOrAPrefix) {
  const std::vector<Price> prices{{"m-1", 1, 1, {}}, kPrice};
  EXPECT_EQ(find_price(prices, "m-1"), &prices[0]);
  EXPECT_EQ(find_price(prices, "m-12"), &prices[1]);
  EXPECT_EQ(find_price(prices, "other"), nullptr);
}
TEST(EstimatedTokens, AreAQuarterOfTheBytesRoundedUp) {
  EXPECT_EQ(estimated_tokens(0), 0);
  EXPECT_EQ(estimated_tokens(1), 1);
  EXPECT_EQ(estimated_tokens(8), 2);
}

}  // namespace
}  // namespace kf
