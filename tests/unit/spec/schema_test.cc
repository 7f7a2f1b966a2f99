// SPDX-License-Identifier: Apache-2.0
// specs/spec.schema.json, which editors read, says the same as the parser's tables.
#include <gmock/gmock.h>
#include <kfactory/dtype.h>
#include <kfactory/family.h>

#include <cstdlib>
#include <fstream>
#include <sstream>

#include "fixtures.h"
#include "format/json_tree.h"
#include "format/spec_json.h"

namespace kf {
namespace {

using testing::ElementsAreArray;
using testing::UnorderedElementsAreArray;

std::string read_file(const std::string& path) {
  std::ifstream file(path);
  std::ostringstream text;
  text << file.rdbuf();
  EXPECT_TRUE(file) << path;
  return text.str();
}

const JsonNode& schema() {
  static const JsonNode kSchema =
      *parse_json_tree(read_file(KF_SOURCE_DIR "/specs/spec.schema.json"), "spec.schema.json");
  return kSchema;
}

// schema().member("a")->member("b")...; an empty node where there is none.
const JsonNode& at(std::initializer_list<std::string_view> path) {
  static const JsonNode kNone;
  const JsonNode* node = &schema();
  for (const std::string_view key : path) {
    node = node->member(key);
    if (node == nullptr) {
      return kNone;
    }
  }
  return *node;
}

std::vector<std::string> texts(const JsonNode& list) {
  std::vector<std::string> result;
  for (const JsonNode& item : list.items) {
    result.push_back(item.text);
  }
  return result;
}

std::vector<std::string> strings(std::span<const std::string_view> words) {
  return {words.begin(), words.end()};
}

class SchemaOf : public testing::TestWithParam<const JsonShape*> {};

TEST_P(SchemaOf, HasTheKeysOfTheParser) {
  const JsonShape& shape = *GetParam();
  std::vector<std::string> keys, required, found;
  for (const JsonKey& key : shape.keys) {
    keys.emplace_back(key.name);
    if (key.required) {
      required.emplace_back(key.name);
    }
  }
  for (const auto& [name, node] : at({"$defs", shape.name, "properties"}).members) {
    found.push_back(name);
  }
  EXPECT_THAT(found, UnorderedElementsAreArray(keys));
  EXPECT_THAT(texts(at({"$defs", shape.name, "required"})), UnorderedElementsAreArray(required));
}

TEST_P(SchemaOf, RefusesOtherKeys) {
  const JsonNode& others = at({"$defs", GetParam()->name, "additionalProperties"});
  const bool has_free_names = GetParam() == &spec_json::kCase;  // axes, types and scalars of the spec
  EXPECT_EQ(others.kind, has_free_names ? JsonNode::Kind::kObject : JsonNode::Kind::kBool);
  EXPECT_FALSE(others.boolean);
}

TEST_P(SchemaOf, HasTheWordsOfTheParser) {
  for (const JsonKey& key : GetParam()->keys) {
    if (!key.words.empty()) {
      EXPECT_THAT(texts(at({"$defs", GetParam()->name, "properties", key.name, "enum"})),
                  ElementsAreArray(strings(key.words)))
          << key.name;
    }
  }
}

INSTANTIATE_TEST_SUITE_P(EveryObject, SchemaOf,
                         testing::ValuesIn(spec_json::shapes().begin(), spec_json::shapes().end()),
                         [](const auto& instance) { return std::string(instance.param->name); });

TEST(Schema, HasTheListsOfTheParser) {
  const auto limits = [](std::string_view key) {
    return texts(at({"$defs", "limits", "properties", key, "items", "enum"}));
  };
  EXPECT_THAT(limits("nvrtc_flags"), ElementsAreArray(strings(spec_json::kNvrtcFlags)));
  EXPECT_THAT(limits("allow"), ElementsAreArray(strings(spec_json::kAllow)));
  std::vector<std::string> families, dtypes;
  for (const FamilyFacts& family : kFamilies) {
    families.emplace_back(family.name);
  }
  for (int i = 0; i < kDtypeCount; ++i) {
    dtypes.emplace_back(to_string(static_cast<Dtype>(i)));
  }
  EXPECT_THAT(texts(at({"$defs", "family", "enum"})), ElementsAreArray(families));
  EXPECT_THAT(texts(at({"$defs", "dtype", "enum"})), ElementsAreArray(dtypes));
  EXPECT_EQ(at({"$defs", "spec", "properties", "kfactory_spec", "const"}).integer, spec_json::kVersion);
}

// A full validator says the same of good and bad specs, where Python has one (Debian: python3-jsonschema).
class SchemaValidator : public testing::Test {
 protected:
  void SetUp() override {
    if (std::system("python3 -c 'import jsonschema' 2>/dev/null") != 0) {
      GTEST_SKIP() << "Python's jsonschema is not installed; the tables were compared above";
    }
  }
  // One process for all of them: starting Python takes longer than validating.
  static std::vector<bool> accepted(const std::vector<std::string>& specs) {
    const std::string base = testing::TempDir() + "kf_schema_test";
    std::string command =
        "python3 -c '"
        "import json, sys, jsonschema\n"
        "check = jsonschema.Draft202012Validator(json.load(open(sys.argv[1])))\n"
        "for path in sys.argv[3:]: print(int(check.is_valid(json.load(open(path)))), file=open(sys.argv[2], "
        "\"a\"))' " KF_SOURCE_DIR "/specs/spec.schema.json " +
        base + ".out";
    for (std::size_t i = 0; i < specs.size(); ++i) {
      const std::string path = base + std::to_string(i) + ".json";
      std::ofstream(path) << specs[i];
      command += " " + path;
    }
    std::remove((base + ".out").c_str());
    EXPECT_EQ(std::system(command.c_str()), 0);
    std::vector<bool> result;
    std::ifstream out(base + ".out");
    for (int valid = 0; out >> valid;) {
      result.push_back(valid == 1);
    }
    for (std::size_t i = 0; i < specs.size(); ++i) {
      std::remove((base + std::to_string(i) + ".json").c_str());
    }
    std::remove((base + ".out").c_str());
    return result;
  }
};

TEST_F(SchemaValidator, AcceptsTheBundledSpecs) {
  std::vector<std::string> specs{test::kSpecText};
  for (const char* path : {"/specs/rmsnorm_fwd.json", "/tests/specs/vector_add.json", "/tests/specs/softmax.json"}) {
    specs.push_back(read_file(std::string(KF_SOURCE_DIR) + path));
  }
  EXPECT_EQ(accepted(specs), std::vector<bool>(specs.size(), true));
}

TEST_F(SchemaValidator, RefusesWhatTheParserRefuses) {
  const std::pair<const char*, const char*> changes[] = {
      {"\"kfactory_spec\": 1", "\"kfactory_spec\": 2"},
      {"\"tolerance\"", "\"tolerence\""},
      {"\"propagate\"", "\"ignore\""},
      {"\"sm_90a\"", "\"sm_91\""},
      {"\"align\": 16", "\"align\": 12"},
      {"[\"M\", 2]", "[\"M\", 2.5]"},
      {"[\"M\", 2]", "null"},
      {"\"--use_fast_math\"", "\"-I/etc\""},
      {"\"clock\"", "\"smid\""},
      {"\"veto\": 0.25", "\"veto\": -1"},
      {"\"cond\": \"y__cond\"", "\"cond\": \"y\""},
      {"\"permute:M\"", "\"permute\""},
      {"[\"bfloat16\", \"float16\", \"float32\"]", "[\"bf16\"]"},
      {"[\"normal\", \"large\"]", "[\"huge\"]"},
      {"{\"range\": 0}", "{\"count\": 0}"},
      {"scale.ref.cu", "/scale.ref.cu"},
      {"\"python\": \"scale.py\"", "\"python\": \"scale.py\", \"cuda\": \"x.cu\""},
      {"\"M\": {\"type\": \"var\"}", "\"M M\": {\"type\": \"var\"}"},
  };
  std::vector<std::string> specs;
  for (const auto& [from, to] : changes) {
    specs.push_back(test::with(test::kSpecText, from, to));
    EXPECT_FALSE(test::spec_of(specs.back())) << from << " -> " << to;
  }
  const std::vector<bool> by_schema = accepted(specs);
  ASSERT_EQ(by_schema.size(), specs.size());
  for (std::size_t i = 0; i < specs.size(); ++i) {
    EXPECT_FALSE(by_schema[i]) << changes[i].first << " -> " << changes[i].second;
  }
}

}  // namespace
}  // namespace kf
