// SPDX-License-Identifier: Apache-2.0
#include "format/json_reader.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>

namespace kf {
namespace {

using testing::HasSubstr;
using testing::IsEmpty;

constexpr std::array<std::string_view, 2> kWords{"cold", "warm"};
constexpr std::array<JsonKey, 2> kKeys{{{"state", true, kWords}, {"count"}}};
constexpr JsonShape kShape{"thing", kKeys};

struct Document {
  explicit Document(std::string_view text) : tree(*parse_json_tree(text, "")), sink{"", {}}, root(tree, sink) {}
  std::string errors() const { return to_string(sink.errors); }
  JsonNode tree;
  JsonErrors sink;
  JsonAt root;
};

TEST(JsonReader, AcceptsTheKeysOfAShape) {
  Document document(R"({"state": "warm", "count": 3})");
  EXPECT_TRUE(document.root.check(kShape));
  EXPECT_EQ(document.root["state"].word(kWords, 0), 1u);
  EXPECT_EQ(document.root["count"].integer(), 3);
  EXPECT_THAT(document.sink.errors, IsEmpty());
}

TEST(JsonReader, NamesMissingAndUnknownKeys) {
  Document document(R"({"colour": 1})");
  EXPECT_TRUE(document.root.check(kShape));
  EXPECT_EQ(document.errors(),
            "$.colour: unknown key \"colour\"; allowed here: state, count\n"
            "$: the key \"state\" is missing");
}

TEST(JsonReader, AMistypedKeyIsNotMissingToo) {
  Document document(R"({"stat": 1})");
  EXPECT_TRUE(document.root.check(kShape));
  EXPECT_EQ(document.errors(), "$.stat: unknown key \"stat\"; allowed here: state, count (did you mean \"state\"?)");
}

TEST(JsonReader, GoesOnAfterAnErrorWithANeutralValue) {
  Document document(R"({"count": "three", "state": "hot"})");
  EXPECT_EQ(document.root["count"].integer(0, 10, 7), 7);
  EXPECT_EQ(document.root["state"].word(kWords, 1), 1u);
  EXPECT_THAT(document.errors(), HasSubstr("$.count: found \"three\", expected an integer\n"
                                           "$.state: found \"hot\", allowed: \"cold\", \"warm\""));
}

TEST(JsonReader, AbsentValuesGiveTheirFallbackWithoutAnError) {
  Document document("{}");
  EXPECT_EQ(document.root["a"].string("x"), "x");
  EXPECT_EQ(document.root["a"].integer(0, 1, 5), 5);
  EXPECT_EQ(document.root["a"].number(0, 2.5), 2.5);
  EXPECT_TRUE(document.root["a"].boolean(true));
  EXPECT_EQ(document.root["a"].expression_text(), std::nullopt);
  EXPECT_THAT(document.sink.errors, IsEmpty());
}

TEST(JsonReader, ChecksRanges) {
  Document document(R"({"a": 11, "b": -0.5})");
  document.root["a"].integer(0, 10);
  document.root["b"].number(0);
  EXPECT_EQ(document.errors(),
            "$.a: found 11, allowed: 0 to 10\n$.b: found the number -0.5, expected a number of at least 0");
}

TEST(JsonReader, TakesIntegersForExpressions) {
  Document document(R"(["M", 4, 1.5])");
  const auto items = document.root.items();
  EXPECT_EQ(items[0].expression_text(), "M");
  EXPECT_EQ(items[1].expression_text(), "4");
  EXPECT_EQ(items[2].expression_text(), std::nullopt);
  EXPECT_THAT(document.errors(), HasSubstr("$[2]: found the number 1.5, expected an expression"));
}

}  // namespace
}  // namespace kf
