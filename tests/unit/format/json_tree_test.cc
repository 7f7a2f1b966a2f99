// SPDX-License-Identifier: Apache-2.0
#include "format/json_tree.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace kf {
namespace {

using testing::HasSubstr;

JsonNode tree(std::string_view text) {
  OrErrors<JsonNode> node = parse_json_tree(text, "");
  EXPECT_TRUE(node) << (node ? "" : to_string(node.error()));
  return node.value_or(JsonNode{});
}

std::string errors(std::string_view text, const std::string& file = "", int first_line = 1) {
  const OrErrors<JsonNode> node = parse_json_tree(text, file, first_line);
  EXPECT_FALSE(node) << "was accepted: " << text;
  return node ? "" : to_string(node.error());
}

TEST(JsonTree, KeepsMembersInTheOrderOfTheText) {
  const JsonNode node = tree(R"({"z": 1, "a": 2, "m": 3})");
  ASSERT_EQ(node.members.size(), 3u);
  EXPECT_EQ(node.members[0].first, "z");
  EXPECT_EQ(node.members[1].first, "a");
  EXPECT_EQ(node.member("m")->integer, 3);
  EXPECT_EQ(node.member("q"), nullptr);
}

TEST(JsonTree, TellsIntegersFromNumbers) {
  const JsonNode node = tree("[1, -5, 2.0, 9223372036854775807, 9223372036854775808, 1e3]");
  EXPECT_EQ(node.items[0].kind, JsonNode::Kind::kInteger);
  EXPECT_EQ(node.items[1].integer, -5);
  EXPECT_EQ(node.items[2].kind, JsonNode::Kind::kNumber);
  EXPECT_EQ(node.items[3].kind, JsonNode::Kind::kInteger);
  EXPECT_EQ(node.items[4].kind, JsonNode::Kind::kNumber) << "does not fit 64 bits";
  EXPECT_EQ(node.items[5].number, 1000.0);
}

TEST(JsonTree, KnowsTheLineOfEachValue) {
  const JsonNode node = tree("{\n  \"a\": 1,\n  \"b\": [\n    2\n,\n    \"x\\n\"],\n\"c\": {}\n}");
  EXPECT_EQ(node.line, 1);
  EXPECT_EQ(node.member("a")->line, 2);
  EXPECT_EQ(node.member("b")->line, 3);
  EXPECT_EQ(node.member("b")->items[0].line, 4) << "a number that ends at the end of its line";
  EXPECT_EQ(node.member("b")->items[1].line, 6);
  EXPECT_EQ(node.member("c")->line, 7);
}

TEST(JsonTree, RefusesRepeatedKeysAtEveryLevel) {
  EXPECT_THAT(errors(R"({"a": 1, "a": 2})"), HasSubstr("$.a: the key \"a\" is there twice"));
  EXPECT_THAT(errors("{\"x\": [0, {\"b\": 1,\n\"b\": 2}]}", "f.json"), HasSubstr("f.json:2 $.x[1].b: the key \"b\""));
}

TEST(JsonTree, SaysWhereTextStopsBeingJson) {
  EXPECT_THAT(errors("{\"a\": [1, 2,, 3]}"), HasSubstr("$.a[2]: not JSON"));
  EXPECT_THAT(errors("\n\n{\"a\" 1}", "f.json", 10), HasSubstr("f.json:12 $.a: not JSON"));
  EXPECT_THAT(errors("{} {}"), HasSubstr("not JSON"));
  EXPECT_THAT(errors("{\"a\": \"\xff\"}"), HasSubstr("not JSON"));
  EXPECT_THAT(errors("{\"a\": nan}"), HasSubstr("not JSON"));
  EXPECT_THAT(errors("{\"a\": 1e999}"), HasSubstr("not JSON"));
}

TEST(JsonTree, RefusesCommentsAndTrailingCommas) {
  EXPECT_THAT(errors("{\"a\": 1, // one\n}"), HasSubstr("no comments"));
  EXPECT_THAT(errors("[1, 2,]"), HasSubstr("no trailing commas"));
}

TEST(JsonTree, BoundsDepthAndSize) {
  EXPECT_THAT(errors(std::string(100000, '[')), HasSubstr("nested deeper than 64 levels"));
  EXPECT_TRUE(parse_json_tree(std::string(64, '[') + std::string(64, ']'), ""));
  EXPECT_THAT(errors("\"" + std::string(17u << 20, 'x') + "\""), HasSubstr("at most 16777216"));
}

TEST(JsonTree, WritesPathsAsJsonPath) {
  EXPECT_EQ(json_path("$", "inputs"), "$.inputs");
  EXPECT_EQ(json_path("$.inputs", "a b"), "$.inputs[\"a b\"]");
  EXPECT_EQ(json_path("$.grid", std::size_t{2}), "$.grid[2]");
  EXPECT_EQ(json_where("", 3, "$.x"), "$.x");
  EXPECT_EQ(json_where("f.json", 3, "$.x"), "f.json:3 $.x");
}

TEST(JsonTree, DescribesValuesForMessages) {
  EXPECT_EQ(described(tree("null")), "null");
  EXPECT_EQ(described(tree("2.5")), "the number 2.5");
  EXPECT_EQ(described(tree("[1, 2]")), "a list of 2");
  EXPECT_EQ(described(tree("\"abc\"")), "\"abc\"");
  EXPECT_EQ(described(tree("\"" + std::string(200, 'x') + "\"")).size(), 85u);
}

}  // namespace
}  // namespace kf
