// SPDX-License-Identifier: Apache-2.0
#include "format/json_reader.h"

#include <algorithm>

#include "format/nearest.h"

namespace kf {
namespace {

std::vector<std::string> quoted(std::span<const std::string_view> words) {
  std::vector<std::string> result;
  for (const std::string_view word : words) {
    result.push_back("\"" + std::string(word) + "\"");
  }
  return result;
}

}  // namespace

std::string JsonAt::where() const {
  return json_where(sink_->file, node_ == nullptr ? 1 : node_->line, path_);
}

void JsonAt::error(std::string what, std::string hint) const {
  sink_->errors.push_back({where(), std::move(what), std::move(hint)});
}

bool JsonAt::expect(JsonNode::Kind kind, std::string_view wanted) const {
  if (is(kind)) {
    return true;
  }
  if (present()) {
    error("found " + described(*node_) + ", expected " + std::string(wanted));
  }
  return false;
}

JsonAt JsonAt::operator[](std::string_view key) const {
  return {is(JsonNode::Kind::kObject) ? node_->member(key) : nullptr, json_path(path_, key), sink_};
}

bool JsonAt::check(const JsonShape& shape) const {
  if (!expect(JsonNode::Kind::kObject, "an object (" + std::string(shape.name) + ")")) {
    return false;
  }
  std::vector<std::string> known;
  for (const JsonKey& key : shape.keys) {
    known.emplace_back(key.name);
  }
  std::vector<std::string> mistyped;  // what unknown keys were most likely meant to be: said once, not missing too
  for (const auto& [name, value] : node_->members) {
    if (std::ranges::find(known, name) == known.end()) {
      (*this)[name].error("unknown key \"" + name + "\"; allowed here: " + joined(known), did_you_mean(name, known));
      mistyped.push_back(nearest_name(name, known));
    }
  }
  for (const JsonKey& key : shape.keys) {
    const bool said = std::ranges::find(mistyped, key.name) != mistyped.end();
    if (key.required && !said && node_->member(key.name) == nullptr) {
      error("the key \"" + std::string(key.name) + "\" is missing");
    }
  }
  return true;
}

std::vector<std::pair<std::string, JsonAt>> JsonAt::members() const {
  std::vector<std::pair<std::string, JsonAt>> result;
  if (expect(JsonNode::Kind::kObject, "an object")) {
    for (const auto& [name, value] : node_->members) {
      result.emplace_back(name, JsonAt(&value, json_path(path_, name), sink_));
    }
  }
  return result;
}

std::vector<JsonAt> JsonAt::items() const {
  std::vector<JsonAt> result;
  if (expect(JsonNode::Kind::kArray, "a list")) {
    for (std::size_t i = 0; i < node_->items.size(); ++i) {
      result.push_back(JsonAt(&node_->items[i], json_path(path_, i), sink_));
    }
  }
  return result;
}

std::string JsonAt::string(std::string_view fallback) const {
  return expect(JsonNode::Kind::kString, "a string") ? node_->text : std::string(fallback);
}

std::int64_t JsonAt::integer(std::int64_t least, std::int64_t most, std::int64_t fallback) const {
  if (!expect(JsonNode::Kind::kInteger, "an integer")) {
    return fallback;
  }
  if (node_->integer < least || node_->integer > most) {
    error("found " + std::to_string(node_->integer) + ", allowed: " + std::to_string(least) + " to " +
          std::to_string(most));
    return fallback;
  }
  return node_->integer;
}

double JsonAt::number(double least, double fallback) const {
  if (!present()) {
    return fallback;
  }
  if (node_->kind != JsonNode::Kind::kInteger && node_->kind != JsonNode::Kind::kNumber) {
    error("found " + described(*node_) + ", expected a number");
    return fallback;
  }
  if (!(node_->number >= least)) {
    error("found " + described(*node_) + ", expected a number of at least " +
          std::to_string(static_cast<std::int64_t>(least)));
    return fallback;
  }
  return node_->number;
}

bool JsonAt::boolean(bool fallback) const {
  return expect(JsonNode::Kind::kBool, "true or false") ? node_->boolean : fallback;
}

std::optional<std::string> JsonAt::expression_text() const {
  if (!present()) {
    return std::nullopt;
  }
  if (node_->kind == JsonNode::Kind::kInteger) {
    return std::to_string(node_->integer);
  }
  if (node_->kind != JsonNode::Kind::kString) {
    error("found " + described(*node_) + ", expected an expression (a string) or an integer");
    return std::nullopt;
  }
  return node_->text;
}

std::size_t JsonAt::word(std::span<const std::string_view> words, std::size_t fallback) const {
  if (!present()) {
    return fallback;
  }
  const auto found = is(JsonNode::Kind::kString) ? std::ranges::find(words, node_->text) : words.end();
  if (found == words.end()) {
    const std::vector<std::string> known(words.begin(), words.end());
    error("found " + described(*node_) + ", allowed: " + joined(quoted(words)), did_you_mean(node_->text, known));
    return fallback;
  }
  return static_cast<std::size_t>(found - words.begin());
}

}  // namespace kf
