// SPDX-License-Identifier: Apache-2.0
#include "model/json_fields.h"

#include <gmock/gmock.h>

#include <nlohmann/json.hpp>

namespace kf {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

TEST(JsonFields, ReplacesUnpairedSurrogatesOnly) {
  EXPECT_EQ(read_json(R"("a\ud83d")"), "a\uFFFD");
  EXPECT_EQ(read_json(R"("\ude80\ud83d\ude80\\ud83d")"), "\uFFFD\U0001F680\\ud83d");
  EXPECT_TRUE(read_json(R"({"a": )").is_discarded());
}
TEST(JsonFields, RefusesWhatIsNestedTooDeep) {
  EXPECT_TRUE(read_json(std::string(1'000'000, '[')).is_discarded());
  EXPECT_TRUE(read_json(std::string(201, '[') + std::string(201, ']')).is_discarded());
  EXPECT_FALSE(read_json(std::string(200, '[') + std::string(200, ']')).is_discarded());
  EXPECT_EQ(read_json("\"" + std::string(300, '[') + "\\\"[\""), std::string(300, '[') + "\"[");
}
TEST(JsonFields, WritesInvalidUtf8AsReplacementCharacters) {
  EXPECT_EQ(write_json({{"a", "x\xFFy"}}), "{\"a\":\"x\uFFFDy\"}");
}
TEST(JsonFields, AnswersEmptyForEveryWrongType) {
  for (const auto& value : {nlohmann::json(), nlohmann::json(3), nlohmann::json::array({1}),
                            nlohmann::json{{"n", nullptr}}, nlohmann::json{{"n", {1}}}}) {
    EXPECT_EQ(text_field(value, "n"), "") << value;
    EXPECT_EQ(count_field(value, "n"), std::nullopt) << value;
    EXPECT_TRUE(field(field(value, "n"), "m").is_null()) << value;
  }
}
TEST(JsonFields, CountsAreWholeAndNotNegative) {
  const auto count = [](const char* text) { return count_field(read_json(text), "n"); };
  EXPECT_EQ(count(R"({"n": 9007199254740993})"), 9007199254740993);
  EXPECT_EQ(count(R"({"n": 12.0})"), 12);
  for (const char* const text :
       {R"({"n": -1})", R"({"n": 1.5})", R"({"n": "7"})", R"({"n": 18446744073709551615})", R"({"n": 1e300})"}) {
    EXPECT_EQ(count(text), std::nullopt) << text;
  }
}
TEST(JsonFields, SplitsGluedFrames) {
  EXPECT_THAT(split_glued(R"({"a":"}{\""}data: {"b":{}} {"c":1}data: [DONE])"),
              ElementsAre(R"({"a":"}{\""})", R"({"b":{}})", R"({"c":1})", "[DONE]"));
  EXPECT_THAT(split_glued(R"({"a":1}x)"), IsEmpty());
  EXPECT_THAT(split_glued(R"({"a":1)"), IsEmpty());
}

}  // namespace
}  // namespace kf
