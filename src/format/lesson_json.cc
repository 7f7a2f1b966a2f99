// SPDX-License-Identifier: Apache-2.0
#include "format/lesson_json.h"

#include <cmath>
#include <nlohmann/json.hpp>

#include <kfactory/digest.h>

namespace kf {
namespace {

using Json = nlohmann::ordered_json;

std::string dump(const Json& json) {
  return json.dump(-1, ' ', false, Json::error_handler_t::replace);
}

// Reads one object; remembers every fault with its path.
class Fields {
 public:
  Fields(const Json& object, std::string path, Errors& errors)
      : object_(object), path_(std::move(path)), errors_(errors) {
    if (!object_.is_object()) {
      fail("", "expected an object, found " + std::string(object_.type_name()));
    }
  }

  const Json* find(const char* key) const {
    if (!object_.is_object()) {
      return nullptr;
    }
    const auto found = object_.find(key);
    return found == object_.end() ? nullptr : &*found;
  }
  const Json* require(const char* key) {
    const Json* found = find(key);
    if (found == nullptr && object_.is_object()) {
      fail("", "the key \"" + std::string(key) + "\" is missing");
    }
    return found;
  }
  std::string text(const char* key, bool required = true) {
    const Json* value = required ? require(key) : find(key);
    if (value == nullptr) {
      return {};
    }
    if (!value->is_string()) {
      fail(key, "expected a text, found " + std::string(value->type_name()));
      return {};
    }
    return value->get<std::string>();
  }
  std::vector<std::string> texts(const char* key) {
    std::vector<std::string> list;
    const Json* value = find(key);
    if (value == nullptr) {
      return list;
    }
    if (value->is_string()) {  // one text for a list of one
      return {value->get<std::string>()};
    }
    for (const Json& entry : *value) {
      if (!value->is_array() || !entry.is_string()) {
        fail(key, "expected a list of texts");
        return {};
      }
      list.push_back(entry.get<std::string>());
    }
    return list;
  }
  bool flag(const char* key) {  // false where it is missing
    const Json* value = find(key);
    if (value != nullptr && !value->is_boolean()) {
      fail(key, "expected true or false, found " + std::string(value->type_name()));
    }
    return value != nullptr && value->is_boolean() && value->get<bool>();
  }
  std::int64_t id(const char* key) {
    const Json* value = require(key);
    if (value != nullptr && (!value->is_number_integer() || value->get<std::int64_t>() < 1)) {
      fail(key, "expected the number of an attempt (1 or more), found " + value->dump());
      return 0;
    }
    return value == nullptr ? 0 : value->get<std::int64_t>();
  }
  void fail(const std::string& key, std::string what) {
    errors_.push_back({key.empty() ? path_ : path_ + "." + key, std::move(what), ""});
  }
  std::string at(const char* key, std::size_t index) const {
    return path_ + "." + key + "[" + std::to_string(index) + "]";
  }

 private:
  const Json& object_;
  std::string path_;
  Errors& errors_;
};

Json encode(const std::vector<Effect>& effects) {
  Json list = Json::array();
  for (const Effect& effect : effects) {
    Json json{{"with", effect.with.value}, {"without", effect.without.value}, {"ratio", effect.ratio}};
    if (!effect.run.empty()) {
      json["run"] = effect.run;
    }
    if (effect.estimate) {
      json["estimate"] = true;
    }
    list.push_back(std::move(json));
  }
  return list;
}

std::vector<Effect> effects_of(Fields& fields, const char* key, Errors& errors) {
  std::vector<Effect> effects;
  const Json* list = fields.require(key);
  if (list == nullptr) {
    return effects;
  }
  if (!list->is_array()) {
    fields.fail(key, "expected a list");
    return effects;
  }
  for (std::size_t i = 0; i < list->size(); ++i) {
    Fields entry((*list)[i], fields.at(key, i), errors);
    Effect effect;
    effect.with.value = entry.id("with");
    effect.without.value = entry.id("without");
    effect.run = entry.text("run", false);
    effect.estimate = entry.flag("estimate");
    const Json* ratio = entry.require("ratio");
    if (ratio != nullptr && ratio->is_number() && ratio->get<double>() > 0) {
      effect.ratio = ratio->get<double>();
    } else if (ratio != nullptr) {
      entry.fail("ratio", "expected a number above 0, found " + ratio->dump());
    }
    effects.push_back(std::move(effect));
  }
  return effects;
}

OrErrors<Lesson> read_lesson(std::string_view text, const std::string& name) {
  const Json json = Json::parse(text, nullptr, false);
  if (json.is_discarded()) {
    return std::unexpected(Errors{{name, "not JSON", "one lesson a line"}});
  }
  Errors errors;
  Fields fields(json, name, errors);
  const Json* version = fields.require("kfactory_lesson");
  if (version != nullptr && *version != 1) {
    fields.fail("kfactory_lesson", "this kfactory reads version 1, found " + version->dump());
  }
  Lesson lesson;
  lesson.id = fields.text("id");
  lesson.claim = fields.text("claim");
  lesson.technique = fields.text("technique");
  lesson.predicted = fields.text("predicted");
  if (const Json* scope = fields.require("scope")) {
    Fields inner(*scope, name + ".scope", errors);
    lesson.arch = inner.text("arch");
    lesson.op_type = inner.text("op_type");
    lesson.dtypes = inner.texts("dtypes");
    lesson.shapes = inner.texts("shapes");
  }
  lesson.supporting = effects_of(fields, "supporting", errors);
  lesson.contradicting = effects_of(fields, "contradicting", errors);
  lesson.origin = fields.text("origin");
  if (errors.empty() && lesson.id != lesson_id(lesson)) {
    fields.fail("id", "found \"" + lesson.id + "\", but this claim and scope have the id " + lesson_id(lesson));
  }
  if (!errors.empty()) {
    return std::unexpected(std::move(errors));
  }
  return lesson;
}

LessonClaim read_claim(Fields& fields, Errors& errors) {
  LessonClaim claim;
  claim.claim = fields.text("claim");
  claim.technique = fields.text("technique", false);
  claim.predicted = fields.text("predicted", false);
  const std::string effect = fields.text("effect");
  if (!effect.empty() && effect != "faster" && effect != "slower") {
    fields.fail("effect", "found \"" + effect + "\", allowed: faster, slower");
  }
  claim.faster = effect != "slower";
  claim.dtypes = fields.texts("dtypes");
  claim.shapes = fields.texts("shapes");
  const Json* evidence = fields.find("evidence");
  if (evidence != nullptr && !evidence->is_array()) {
    fields.fail("evidence", "expected a list of {\"with\": id, \"without\": id}");
    return claim;
  }
  for (std::size_t i = 0; evidence != nullptr && i < evidence->size(); ++i) {
    Fields pair((*evidence)[i], fields.at("evidence", i), errors);
    const std::int64_t with = pair.id("with");
    claim.evidence.emplace_back(with, pair.id("without"));
  }
  return claim;
}

}  // namespace

std::string lesson_id(const Lesson& lesson) {
  // A list, so that no two different scopes give the same text.
  const Json key{lesson.claim, lesson.arch, lesson.op_type, lesson.dtypes, lesson.shapes};
  return "L-" + to_hex(sha256(dump(key))).substr(0, 12);
}

std::string lesson_json(const Lesson& lesson) {
  const Json json{
      {"kfactory_lesson", 1},
      {"id", lesson.id},
      {"claim", lesson.claim},
      {"technique", lesson.technique},
      {"predicted", lesson.predicted},
      {"scope",
       {{"arch", lesson.arch}, {"op_type", lesson.op_type}, {"dtypes", lesson.dtypes}, {"shapes", lesson.shapes}}},
      {"supporting", encode(lesson.supporting)},
      {"contradicting", encode(lesson.contradicting)},
      {"conjecture", lesson.conjecture()},
      {"evidence", lesson.evidence()},
      {"confidence", std::round(lesson.confidence() * 1000) / 1000},
      {"origin", lesson.origin}};
  return dump(json);
}

OrError<Lesson> lesson_from_json(std::string_view json) {
  OrErrors<Lesson> lesson = read_lesson(json, "lesson");
  if (!lesson) {
    return std::unexpected(lesson.error().front());
  }
  return std::move(*lesson);
}

std::string lessons_jsonl(const std::vector<Lesson>& lessons) {
  std::string text;
  for (const Lesson& lesson : lessons) {
    text += lesson_json(lesson) + '\n';
  }
  return text;
}

OrErrors<std::vector<Lesson>> lessons_from_jsonl(std::string_view text, const std::string& name) {
  std::vector<Lesson> lessons;
  Errors errors;
  for (int line = 1; !text.empty(); ++line) {
    const std::size_t end = text.find('\n');
    const std::string_view row = text.substr(0, end);
    text = end == std::string_view::npos ? std::string_view() : text.substr(end + 1);
    if (row.find_first_not_of(" \t\r") == std::string_view::npos) {
      continue;
    }
    OrErrors<Lesson> lesson = read_lesson(row, name + ":" + std::to_string(line));
    if (lesson) {
      lessons.push_back(std::move(*lesson));
    } else {
      errors.insert(errors.end(), lesson.error().begin(), lesson.error().end());
    }
  }
  if (!errors.empty()) {
    return std::unexpected(std::move(errors));
  }
  return lessons;
}

OrErrors<std::vector<LessonClaim>> lesson_claims_from_json(std::string_view text) {
  Errors errors;
  Json json;
  try {
    json = Json::parse(text);
  } catch (const Json::exception& fault) {  // parse_error, and out_of_range for 1e999
    std::string what = fault.what();        // "[json.exception.parse_error.101] parse error at ..."
    what.erase(0, what.starts_with('[') ? what.find("] ") + 2 : 0);
    return std::unexpected(Errors{{"$", "not JSON: " + what, ""}});
  }
  std::vector<LessonClaim> claims;
  Fields fields(json, "$", errors);
  const Json* list = fields.require("lessons");
  if (list != nullptr && !list->is_array()) {
    fields.fail("lessons", "expected a list, found " + std::string(list->type_name()));
  } else if (list != nullptr) {
    for (std::size_t i = 0; i < list->size(); ++i) {
      Fields entry((*list)[i], fields.at("lessons", i), errors);
      claims.push_back(read_claim(entry, errors));
    }
  }
  if (!errors.empty()) {
    return std::unexpected(std::move(errors));
  }
  return claims;
}

}  // namespace kf
