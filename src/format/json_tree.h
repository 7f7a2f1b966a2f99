// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <kfactory/error.h>

namespace kf {

// A JSON document as it was written: members in order, each value with its line. Unlike the usual object model it
// refuses repeated keys, which RFC 8259 leaves to the reader and which hide mistakes in hand-written files.
struct JsonNode {
  // Out of line: a member function of std::pair<..., JsonNode> must not be needed before JsonNode is complete.
  JsonNode();
  JsonNode(const JsonNode& other);
  JsonNode(JsonNode&& other) noexcept;
  JsonNode& operator=(const JsonNode& other);
  JsonNode& operator=(JsonNode&& other) noexcept;
  ~JsonNode();

  enum class Kind : std::uint8_t { kNull, kBool, kInteger, kNumber, kString, kArray, kObject } kind = Kind::kNull;
  bool boolean = false;
  std::int64_t integer = 0;                               // kInteger: fits 64 bits
  double number = 0;                                      // kInteger and kNumber
  std::string text;                                       // kString
  std::vector<JsonNode> items;                            // kArray
  std::vector<std::pair<std::string, JsonNode>> members;  // kObject
  int line = 1;

  const JsonNode* member(std::string_view key) const;  // nullptr: no such key
};

// "an object", "a string", "the number 3": for messages.
std::string described(const JsonNode& node);

// Strict JSON (RFC 8259): no comments, no trailing commas, no repeated keys, at most 64 levels, at most 16 MiB.
// `file` and `first_line` (of the text within that file) are put into errors; an empty file gives paths alone.
OrErrors<JsonNode> parse_json_tree(std::string_view text, const std::string& file, int first_line = 1);

// "file:12 $.grid[0]", or the path alone when there is no file.
std::string json_where(const std::string& file, int line, const std::string& path);
// "$.inputs" + "x" -> "$.inputs.x"; a key that is no identifier becomes ["..."].
std::string json_path(const std::string& parent, std::string_view key);
std::string json_path(const std::string& parent, std::size_t index);

}  // namespace kf
