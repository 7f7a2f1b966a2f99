// SPDX-License-Identifier: Apache-2.0
#include "format/json_tree.h"

#include <algorithm>
#include <iterator>
#include <limits>
#include <nlohmann/json.hpp>
#include <unordered_set>

namespace kf {
namespace {

constexpr std::size_t kMaxBytes = 16u << 20;
constexpr std::size_t kMaxLevels = 64;

// Feeds the library's lexer and counts lines on the way: its event interface gives no positions.
struct Progress {
  std::string_view text;
  std::size_t consumed = 0, counted = 0;
  int line = 1;

  // Line of the last token that ended; the lexer may have read one character (a newline, perhaps) past it.
  int line_of_token() {
    const std::size_t end = consumed == 0 ? 0 : consumed - 1;
    for (; counted < end; ++counted) {
      line += text[counted] == '\n' ? 1 : 0;
    }
    return line;
  }
};

class CountingIterator {
 public:
  using iterator_category = std::input_iterator_tag;
  using value_type = char;
  using difference_type = std::ptrdiff_t;
  using pointer = const char*;
  using reference = const char&;

  CountingIterator(Progress* progress, std::size_t at) : progress_(progress), at_(at) {}
  reference operator*() const { return progress_->text[at_]; }
  CountingIterator& operator++() {
    progress_->consumed = ++at_;
    return *this;
  }
  CountingIterator operator++(int) {
    const CountingIterator before = *this;
    ++*this;
    return before;
  }
  bool operator==(const CountingIterator& other) const { return at_ == other.at_; }

 private:
  Progress* progress_;
  std::size_t at_;
};

std::string without_prefix(const std::string& message) {
  const std::size_t column = message.find(", column ");
  const std::size_t colon = column == std::string::npos ? column : message.find(": ", column);
  if (colon != std::string::npos) {
    return message.substr(colon + 2);
  }
  const std::size_t bracket = message.starts_with('[') ? message.find("] ") : std::string::npos;
  return bracket == std::string::npos ? message : message.substr(bracket + 2);  // "[json.exception.out_of_range.406] "
}

class TreeBuilder : public nlohmann::json_sax<nlohmann::json> {
 public:
  TreeBuilder(Progress* progress, std::string file, int first_line)
      : progress_(progress), file_(std::move(file)), first_line_(first_line) {}

  bool null() override { return place({}); }
  bool boolean(bool value) override {
    JsonNode node;
    node.kind = JsonNode::Kind::kBool;
    node.boolean = value;
    return place(std::move(node));
  }
  bool number_integer(number_integer_t value) override { return integer(value); }
  bool number_unsigned(number_unsigned_t value) override {
    constexpr auto kLargest = static_cast<number_unsigned_t>(std::numeric_limits<std::int64_t>::max());
    return value <= kLargest ? integer(static_cast<std::int64_t>(value)) : real(static_cast<double>(value));
  }
  bool number_float(number_float_t value, const string_t&) override { return real(value); }
  bool string(string_t& value) override {
    JsonNode node;
    node.kind = JsonNode::Kind::kString;
    node.text = std::move(value);
    return place(std::move(node));
  }
  bool binary(binary_t&) override { return false; }

  bool start_object(std::size_t) override { return open(JsonNode::Kind::kObject); }
  bool start_array(std::size_t) override { return open(JsonNode::Kind::kArray); }
  bool end_object() override { return close(); }
  bool end_array() override { return close(); }
  bool key(string_t& key) override {
    Level& level = levels_.back();
    level.key = key;
    if (!level.keys.insert(key).second) {
      errors_.push_back({where(json_path(path_of_level(), key)), "the key \"" + key + "\" is there twice",
                         "remove or rename one of them"});
    }
    return true;
  }

  bool parse_error(std::size_t, const std::string&, const nlohmann::json::exception& error) override {
    errors_.push_back({where(levels_.empty() ? "$" : next_path()), "not JSON: " + without_prefix(error.what()),
                       "plain JSON is expected: no comments, no trailing commas, double quotes"});
    return false;
  }

  JsonNode take_root() { return std::move(root_); }
  Errors take_errors() { return std::move(errors_); }

 private:
  struct Level {
    JsonNode node;
    std::string key, path;
    std::unordered_set<std::string> keys;
  };

  int line() { return first_line_ - 1 + progress_->line_of_token(); }
  std::string where(const std::string& path) { return json_where(file_, line(), path); }
  std::string path_of_level() const { return levels_.back().path; }
  std::string next_path() const {
    if (levels_.empty()) {
      return "$";
    }
    const Level& level = levels_.back();
    return level.node.kind == JsonNode::Kind::kArray ? json_path(level.path, level.node.items.size())
           : level.key.empty()                       ? level.path
                                                     : json_path(level.path, level.key);
  }

  bool integer(std::int64_t value) {
    JsonNode node;
    node.kind = JsonNode::Kind::kInteger;
    node.integer = value;
    node.number = static_cast<double>(value);
    return place(std::move(node));
  }
  bool real(double value) {
    JsonNode node;
    node.kind = JsonNode::Kind::kNumber;
    node.number = value;
    return place(std::move(node));
  }
  bool place(JsonNode node) {
    node.line = line();
    attach(std::move(node));
    return true;
  }
  void attach(JsonNode node) {
    if (levels_.empty()) {
      root_ = std::move(node);
    } else if (levels_.back().node.kind == JsonNode::Kind::kArray) {
      levels_.back().node.items.push_back(std::move(node));
    } else {
      levels_.back().node.members.emplace_back(levels_.back().key, std::move(node));
    }
  }
  bool open(JsonNode::Kind kind) {
    if (levels_.size() >= kMaxLevels) {
      errors_.push_back({where(next_path()), "nested deeper than " + std::to_string(kMaxLevels) + " levels", ""});
      return false;
    }
    Level level;
    level.path = next_path();
    level.node.kind = kind;
    level.node.line = line();
    levels_.push_back(std::move(level));
    return true;
  }
  bool close() {
    JsonNode node = std::move(levels_.back().node);
    levels_.pop_back();
    attach(std::move(node));
    return true;
  }

  Progress* progress_;
  std::string file_;
  int first_line_;
  std::vector<Level> levels_;
  JsonNode root_;
  Errors errors_;
};

bool is_plain_key(std::string_view key) {
  const auto plain = [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_';
  };
  return !key.empty() && std::ranges::all_of(key, plain);
}

}  // namespace

JsonNode::JsonNode() = default;
JsonNode::JsonNode(const JsonNode& other) = default;
JsonNode::JsonNode(JsonNode&& other) noexcept = default;
JsonNode& JsonNode::operator=(const JsonNode& other) = default;
JsonNode& JsonNode::operator=(JsonNode&& other) noexcept = default;
JsonNode::~JsonNode() = default;

const JsonNode* JsonNode::member(std::string_view key) const {
  for (const auto& [name, value] : members) {
    if (name == key) {
      return &value;
    }
  }
  return nullptr;
}

std::string described(const JsonNode& node) {
  switch (node.kind) {
    case JsonNode::Kind::kNull:
      return "null";
    case JsonNode::Kind::kBool:
      return node.boolean ? "true" : "false";
    case JsonNode::Kind::kInteger:
      return "the number " + std::to_string(node.integer);
    case JsonNode::Kind::kNumber:
      return "the number " + nlohmann::json(node.number).dump();
    case JsonNode::Kind::kString:
      return "\"" + node.text.substr(0, 80) + (node.text.size() > 80 ? "...\"" : "\"");
    case JsonNode::Kind::kArray:
      return "a list of " + std::to_string(node.items.size());
    case JsonNode::Kind::kObject:
      return "an object";
  }
  return "nothing";
}

std::string json_where(const std::string& file, int line, const std::string& path) {
  return file.empty() ? path : file + ":" + std::to_string(line) + " " + path;
}

std::string json_path(const std::string& parent, std::string_view key) {
  return is_plain_key(key) ? parent + "." + std::string(key) : parent + "[\"" + std::string(key) + "\"]";
}

std::string json_path(const std::string& parent, std::size_t index) {
  return parent + "[" + std::to_string(index) + "]";
}

OrErrors<JsonNode> parse_json_tree(std::string_view text, const std::string& file, int first_line) {
  if (text.size() > kMaxBytes) {
    return std::unexpected(Errors{{json_where(file, first_line, "$"),
                                   "the JSON text has " + std::to_string(text.size()) + " bytes, at most " +
                                       std::to_string(kMaxBytes) + " are allowed",
                                   ""}});
  }
  Progress progress{text};
  TreeBuilder builder(&progress, file, first_line);
  nlohmann::json::sax_parse(CountingIterator(&progress, 0), CountingIterator(&progress, text.size()), &builder);
  Errors errors = builder.take_errors();
  if (!errors.empty()) {
    return std::unexpected(std::move(errors));
  }
  return builder.take_root();
}

}  // namespace kf
