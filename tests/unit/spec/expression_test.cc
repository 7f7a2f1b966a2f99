// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <kfactory/expression.h>

#include <limits>

namespace kf {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

constexpr std::int64_t kMax = std::numeric_limits<std::int64_t>::max();
constexpr std::int64_t kMin = std::numeric_limits<std::int64_t>::min();

Scope scope() {
  Scope scope;
  scope.values = {{"M", 7}, {"N", 4096}, {"ZERO", 0}, {"NEG", -7}, {"MAX", kMax}, {"MIN", kMin}};
  scope.present = {{"residual", false}, {"x", true}};
  scope.sizes = {{"T", 2}, {"x", 2}, {"float32", 4}};
  scope.alignments = {{"x", 16}};
  scope.resident = [](std::string_view kernel) -> OrError<std::int64_t> {
    return kernel == "main" ? OrError<std::int64_t>(264) : std::unexpected(Error{"", "no such kernel", ""});
  };
  return scope;
}

std::int64_t value(std::string_view text) {
  const auto expression = Expression::parse(text, "");
  EXPECT_TRUE(expression) << text << ": " << (expression ? "" : to_string(expression.error()));
  const auto result = expression ? expression->evaluate(scope()) : OrError<std::int64_t>(std::unexpected(Error{}));
  EXPECT_TRUE(result) << text << ": " << (result ? "" : to_string(result.error()));
  return result.value_or(-12345);
}

std::string evaluation_error(std::string_view text) {
  const auto expression = Expression::parse(text, "$.grid[0]");
  EXPECT_TRUE(expression) << text;
  const auto result = expression->evaluate(scope());
  EXPECT_FALSE(result) << text << " is " << result.value_or(0);
  return result ? "" : to_string(result.error());
}

std::string parse_error(std::string_view text) {
  const auto expression = Expression::parse(text, "$.grid[0]");
  EXPECT_FALSE(expression) << text;
  return expression ? "" : to_string(expression.error());
}

TEST(Expression, MultiplicationBindsTighterThanAddition) {
  EXPECT_EQ(value("2 + 3 * 4"), 14);
}
TEST(Expression, ParenthesesComeFirst) {
  EXPECT_EQ(value("(2 + 3) * 4"), 20);
}
TEST(Expression, SubtractionIsLeftAssociative) {
  EXPECT_EQ(value("10 - 4 - 3"), 3);
}
TEST(Expression, DivisionTruncatesTowardZero) {
  EXPECT_EQ(value("-7 / 2"), -3);
  EXPECT_EQ(value("7 / -2"), -3);
}
TEST(Expression, RemainderHasTheSignOfTheDividend) {
  EXPECT_EQ(value("-7 % 3"), -1);
  EXPECT_EQ(value("7 % -3"), 1);
}
TEST(Expression, ConditionalIsRightAssociative) {
  EXPECT_EQ(value("0 ? 1 : 1 ? 2 : 3"), 2);
}
TEST(Expression, ConditionalMayNestInItsMiddle) {
  EXPECT_EQ(value("1 ? 0 ? 5 : 6 : 7"), 6);
}
TEST(Expression, ComparisonsGiveOneOrZero) {
  EXPECT_EQ(value("3 < 4"), 1);
  EXPECT_EQ(value("4 <= 3"), 0);
  EXPECT_EQ(value("4 >= 4"), 1);
  EXPECT_EQ(value("4 != 4"), 0);
}
TEST(Expression, EqualityBindsLooserThanOrder) {
  EXPECT_EQ(value("1 < 2 == 3 > 2"), 1);
}
TEST(Expression, AndBindsTighterThanOr) {
  EXPECT_EQ(value("1 || 0 && 0"), 1);
}
TEST(Expression, NotAppliesToTheNextOperandOnly) {
  EXPECT_EQ(value("!0 + 1"), 2);
}
TEST(Expression, SignsMayFollowEachOther) {
  EXPECT_EQ(value("- -3 - -2"), 5);
}
TEST(Expression, PowerIsRightAssociativeAndBindsTighterThanMinus) {
  EXPECT_EQ(value("2^3^2"), 512);
  EXPECT_EQ(value("-2^2"), -4);
  EXPECT_EQ(value("64*2^20"), 67108864);
}
TEST(Expression, PowerOfSmallBasesNeedsNoLoop) {
  EXPECT_EQ(value("1^9223372036854775807"), 1);
  EXPECT_EQ(value("(-1)^9223372036854775807"), -1);
  EXPECT_EQ(value("0^0"), 1);
}
TEST(Expression, PowerReachesTheSmallestInteger) {
  EXPECT_EQ(value("(-2)^63"), kMin);
}

TEST(Expression, CeilDivRoundsUp) {
  EXPECT_EQ(value("ceil_div(M, 2)"), 4);
  EXPECT_EQ(value("ceil_div(0, 2)"), 0);
  EXPECT_EQ(value("ceil_div(MAX, 2)"), kMax / 2 + 1);
}
TEST(Expression, RoundUpGivesAMultiple) {
  EXPECT_EQ(value("round_up(M, 4)"), 8);
}
TEST(Expression, Pow2CeilGivesThePowerOfTwo) {
  EXPECT_EQ(value("pow2_ceil(0)"), 1);
  EXPECT_EQ(value("pow2_ceil(5)"), 8);
  EXPECT_EQ(value("pow2_ceil(8)"), 8);
}
TEST(Expression, MinAndMaxTakeSeveralArguments) {
  EXPECT_EQ(value("min(3, M, 5)"), 3);
  EXPECT_EQ(value("max(3, M, 5)"), 7);
}
TEST(Expression, ReadsSizesAlignmentsAndPresence) {
  EXPECT_EQ(value("sizeof(T) + sizeof(float32)"), 6);
  EXPECT_EQ(value("align(x)"), 16);
  EXPECT_EQ(value("has(x) && !has(residual)"), 1);
}
TEST(Expression, AsksForResidency) {
  EXPECT_EQ(value("min(N, resident(main))"), 264);
}

TEST(Expression, AndOrAndConditionalSkipWhatTheyDoNotNeed) {
  EXPECT_EQ(value("ZERO && 1 / ZERO"), 0);
  EXPECT_EQ(value("M || nothing"), 1);
  EXPECT_EQ(value("ZERO ? 1 / ZERO : 5"), 5);
}

TEST(Expression, OverflowIsAnError) {
  for (const char* text : {"MAX + 1", "MIN - 1", "MAX * 2", "-MIN", "MIN / -1", "MIN % -1", "2^63", "pow2_ceil(MAX)",
                           "round_up(MAX, 2)"}) {
    EXPECT_THAT(evaluation_error(text), HasSubstr("overflow")) << text;
  }
}
TEST(Expression, DivisionByZeroIsAnErrorWithItsColumn) {
  EXPECT_EQ(evaluation_error("M + N / ZERO"), "$.grid[0], column 7: division by zero in \"M + N / ZERO\"");
  EXPECT_THAT(evaluation_error("M % ZERO"), HasSubstr("division by zero"));
  EXPECT_THAT(evaluation_error("ceil_div(M, ZERO)"), HasSubstr("division by zero"));
}
TEST(Expression, NegativeSizesAreErrors) {
  EXPECT_THAT(evaluation_error("ceil_div(NEG, 2)"), HasSubstr("negative argument -7 of ceil_div"));
  EXPECT_THAT(evaluation_error("round_up(2, NEG)"), HasSubstr("negative argument -7 of round_up"));
  EXPECT_THAT(evaluation_error("pow2_ceil(NEG)"), HasSubstr("negative argument"));
  EXPECT_THAT(evaluation_error("2^NEG"), HasSubstr("negative exponent -7"));
}
TEST(Expression, UnknownNameListsWhatIsKnownAndSuggestsTheNearest) {
  const std::string error = evaluation_error("n + 1");
  EXPECT_THAT(error, HasSubstr("column 1"));
  EXPECT_THAT(error, HasSubstr("unknown name \"n\" (known here: M, MAX, MIN, N, NEG, ZERO)"));
  EXPECT_THAT(error, HasSubstr("did you mean \"N\"?"));
}
TEST(Expression, UnknownTensorsAndTypesAreErrors) {
  EXPECT_THAT(evaluation_error("has(bias)"), HasSubstr("unknown optional tensor \"bias\""));
  EXPECT_THAT(evaluation_error("sizeof(U)"), HasSubstr("unknown type or tensor \"U\""));
  EXPECT_THAT(evaluation_error("align(y)"), HasSubstr("unknown tensor \"y\""));
}
TEST(Expression, ResidencyWithoutADeviceIsAnError) {
  Scope without = scope();
  without.resident = nullptr;
  const auto result = Expression::parse("resident(main)", "")->evaluate(without);
  ASSERT_FALSE(result);
  EXPECT_THAT(result.error().what, HasSubstr("resident(main) is not known here"));
}
TEST(Expression, ResidencyErrorsCarryTheColumnOfTheCall) {
  EXPECT_THAT(evaluation_error("1 + resident(other)"), HasSubstr("column 5: no such kernel"));
}

TEST(Expression, SyntaxErrorsNameColumnAndWhatWasFound) {
  EXPECT_THAT(parse_error("M +"), HasSubstr("$.grid[0], column 4"));
  EXPECT_THAT(parse_error("M N"), HasSubstr("column 3: found 'N' where an operator or the end is expected"));
  EXPECT_THAT(parse_error("(M"), HasSubstr("')' is expected"));
  EXPECT_THAT(parse_error("M ? 1"), HasSubstr("':' is expected"));
  EXPECT_THAT(parse_error(""), HasSubstr("a value is expected"));
  EXPECT_THAT(parse_error("M & N"), HasSubstr("found '&'"));
  EXPECT_THAT(parse_error("M = 1"), HasSubstr("found '='"));
  EXPECT_THAT(parse_error("+M"), HasSubstr("found '+'"));
  EXPECT_THAT(parse_error("M\xc3\xa9"), HasSubstr("a character outside ASCII"));
}
TEST(Expression, LiteralsAreDecimalIntegers) {
  EXPECT_THAT(parse_error("0x10"), HasSubstr("decimal digits"));
  EXPECT_THAT(parse_error("1.5"), HasSubstr("decimal digits"));
  EXPECT_THAT(parse_error("010"), HasSubstr("leading zero"));
  EXPECT_THAT(parse_error("9223372036854775808"), HasSubstr("does not fit 64 bits"));
  EXPECT_EQ(value("9223372036854775807"), kMax);
}
TEST(Expression, UnknownFunctionSuggestsTheNearest) {
  EXPECT_THAT(parse_error("ceildiv(M, 2)"), HasSubstr("did you mean \"ceil_div\"?"));
}
TEST(Expression, FunctionsCheckTheirArgumentCount) {
  EXPECT_THAT(parse_error("ceil_div(M)"), HasSubstr("takes 2 arguments, found 1"));
  EXPECT_THAT(parse_error("min(M)"), HasSubstr("takes 2 to 16 arguments"));
  EXPECT_THAT(parse_error("sizeof(1)"), HasSubstr("a name"));
  EXPECT_THAT(parse_error("has(a, b)"), HasSubstr("')'"));
}
TEST(Expression, DeepNestingIsRefusedInEveryForm) {
  const auto repeated = [](const std::string& part, int times) {
    std::string text;
    for (int i = 0; i < times; ++i) {
      text += part;
    }
    return text;
  };
  EXPECT_THAT(parse_error(repeated("(", 1000) + "1" + repeated(")", 1000)), HasSubstr("nested deeper than 200"));
  EXPECT_THAT(parse_error(repeated("-", 1000) + "1"), HasSubstr("nested deeper"));
  EXPECT_THAT(parse_error("1" + repeated("+1", 1000)), HasSubstr("nested deeper"));
  EXPECT_THAT(parse_error(repeated("1?", 1000)), HasSubstr("nested deeper"));
  EXPECT_THAT(parse_error(repeated("2^", 1000) + "1"), HasSubstr("nested deeper"));
  EXPECT_EQ(value(repeated("(", 90) + "1" + repeated(")", 90)), 1);
}
TEST(Expression, VeryLongTextIsRefused) {
  EXPECT_THAT(parse_error(std::string(5000, ' ')), HasSubstr("at most 4096"));
}

TEST(Expression, ListsItsNamesOnceAndSorted) {
  const auto expression = Expression::parse("N * M + N * sizeof(T) + min(resident(b), resident(a), resident(b))", "");
  ASSERT_TRUE(expression);
  EXPECT_THAT(expression->names(), ElementsAre("M", "N"));
  EXPECT_THAT(expression->resident_kernels(), ElementsAre("a", "b"));
}
TEST(Expression, KeepsItsText) {
  EXPECT_EQ(Expression::parse(" M*2 ", "")->text(), " M*2 ");
}
TEST(Expression, IsZeroByDefault) {
  EXPECT_EQ(Expression().evaluate({}).value(), 0);
  EXPECT_EQ(Expression::constant(-3).evaluate({}).value(), -3);
}

}  // namespace
}  // namespace kf
