// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cstdint>
#include <limits>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <kfactory/error.h>

#include "format/json_tree.h"

namespace kf {

// One kind of JSON object: its keys, in the order in which messages and documents list them.
struct JsonKey {
  std::string_view name;
  bool required = false;
  std::span<const std::string_view> words = {};  // the strings allowed, when there are only some
};
struct JsonShape {
  std::string_view name;  // also its name under $defs in the JSON Schema
  std::span<const JsonKey> keys;
};

// Where all errors of one document go.
struct JsonErrors {
  std::string file;  // empty: paths alone
  Errors errors;
};

// A value inside a document, or its absence: reads it as what is expected and records an error where it is not.
// After an error a neutral value is returned, so that reading goes on and every error is found.
class JsonAt {
 public:
  JsonAt(const JsonNode& root, JsonErrors& sink) : node_(&root), path_("$"), sink_(&sink) {}

  bool present() const { return node_ != nullptr; }
  bool is(JsonNode::Kind kind) const { return node_ != nullptr && node_->kind == kind; }
  bool is_null() const { return is(JsonNode::Kind::kNull); }
  const JsonNode& node() const { return *node_; }
  const std::string& path() const { return path_; }
  std::string where() const;

  // Without checks: absent when this is no object or has no such key; nothing recorded.
  JsonAt operator[](std::string_view key) const;
  // Refuses anything but an object with keys of `shape`, and all the required ones. False: not an object.
  bool check(const JsonShape& shape) const;

  std::vector<std::pair<std::string, JsonAt>> members() const;  // of an object whose keys are free names
  std::vector<JsonAt> items() const;
  std::string string(std::string_view fallback = "") const;
  std::int64_t integer(std::int64_t least = std::numeric_limits<std::int64_t>::min(),
                       std::int64_t most = std::numeric_limits<std::int64_t>::max(), std::int64_t fallback = 0) const;
  double number(double least, double fallback = 0) const;  // `least`: a whole number, or the lowest double
  bool boolean(bool fallback) const;
  // Text of an expression: a string, or an integer. nullopt after an error or when absent.
  std::optional<std::string> expression_text() const;
  // Index into `words`; `fallback` when absent or after an error.
  std::size_t word(std::span<const std::string_view> words, std::size_t fallback) const;

  void error(std::string what, std::string hint = "") const;

 private:
  JsonAt(const JsonNode* node, std::string path, JsonErrors* sink) : node_(node), path_(std::move(path)), sink_(sink) {}
  bool expect(JsonNode::Kind kind, std::string_view wanted) const;

  const JsonNode* node_;
  std::string path_;
  JsonErrors* sink_;
};

}  // namespace kf
