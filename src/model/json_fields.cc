// SPDX-License-Identifier: Apache-2.0
#include "json_fields.h"

#include <cmath>
#include <nlohmann/json.hpp>

namespace kf {
namespace {

using Json = nlohmann::json;

// The value of \uXXXX at `at`, or -1.
int escape_at(std::string_view text, std::size_t at) {
  if (at + 6 > text.size() || text[at] != '\\' || text[at + 1] != 'u') {
    return -1;
  }
  int value = 0;
  for (const char c : text.substr(at + 2, 4)) {
    const int digit = c >= '0' && c <= '9'   ? c - '0'
                      : c >= 'a' && c <= 'f' ? c - 'a' + 10
                      : c >= 'A' && c <= 'F' ? c - 'A' + 10
                                             : -1;
    if (digit < 0) {
      return -1;
    }
    value = value * 16 + digit;
  }
  return value;
}

bool is_high(int unit) {
  return unit >= 0xD800 && unit < 0xDC00;
}
bool is_low(int unit) {
  return unit >= 0xDC00 && unit < 0xE000;
}

std::string with_whole_surrogates(std::string_view text) {
  std::string result;
  result.reserve(text.size());
  for (std::size_t at = 0; at < text.size();) {
    if (text[at] != '\\' || at + 1 >= text.size()) {
      result += text[at++];
      continue;
    }
    const int unit = escape_at(text, at);
    if (is_high(unit) && is_low(escape_at(text, at + 6))) {
      result += text.substr(at, 12);
      at += 12;
    } else if (is_high(unit) || is_low(unit)) {
      result += "\\uFFFD";
      at += 6;
    } else {
      result += text.substr(at, 2);
      at += 2;
    }
  }
  return result;
}

// Copying and writing a value recurse: a hostile server must not choose how deep.
bool is_too_deep(std::string_view text) {
  constexpr int kDeepest = 200;
  int depth = 0;
  bool in_string = false;
  for (std::size_t at = 0; at < text.size() && depth <= kDeepest; ++at) {
    const char c = text[at];
    if (in_string) {
      at += c == '\\' ? 1 : 0;
      in_string = c != '"';
    } else {
      in_string = c == '"';
      depth += (c == '{' || c == '[' ? 1 : 0) - (c == '}' || c == ']' ? 1 : 0);
    }
  }
  return depth > kDeepest;
}

// One past the object that begins at `at`; npos when it does not end.
std::size_t end_of_object(std::string_view text, std::size_t at) {
  int depth = 0;
  bool in_string = false;
  for (; at < text.size(); ++at) {
    const char c = text[at];
    if (in_string) {
      if (c == '\\') {
        ++at;
      } else if (c == '"') {
        in_string = false;
      }
    } else if (c == '"') {
      in_string = true;
    } else if (c == '{') {
      ++depth;
    } else if (c == '}' && --depth == 0) {
      return at + 1;
    }
  }
  return std::string_view::npos;
}

void skip_space(std::string_view& text) {
  text.remove_prefix(std::min(text.size(), text.find_first_not_of(" \t\r\n")));
}

}  // namespace

Json read_json(std::string_view text) {
  if (is_too_deep(text)) {
    return Json(Json::value_t::discarded);
  }
  Json value = Json::parse(text, nullptr, false);
  if (value.is_discarded() && text.find("\\u") != std::string_view::npos) {
    value = Json::parse(with_whole_surrogates(text), nullptr, false);
  }
  return value;
}

std::string write_json(const Json& value) {
  return value.dump(-1, ' ', false, Json::error_handler_t::replace);
}

const Json& field(const Json& object, std::string_view name) {
  static const Json kNull;
  if (!object.is_object()) {
    return kNull;
  }
  const auto found = object.find(name);
  return found == object.end() ? kNull : *found;
}

std::string text_field(const Json& object, std::string_view name) {
  const Json& value = field(object, name);
  return value.is_string() ? value.get<std::string>() : value.is_number() ? value.dump() : std::string();
}

std::optional<std::int64_t> count_field(const Json& object, std::string_view name) {
  const Json& value = field(object, name);
  if (value.is_number_float()) {
    const double number = value.get<double>();
    return number >= 0 && number < 9e15 && std::floor(number) == number
               ? std::optional(static_cast<std::int64_t>(number))
               : std::nullopt;
  }
  if (!value.is_number_integer() || (value.is_number_unsigned() && value.get<std::uint64_t>() > INT64_MAX)) {
    return std::nullopt;
  }
  const auto count = value.get<std::int64_t>();
  return count >= 0 ? std::optional(count) : std::nullopt;
}

std::vector<std::string_view> split_glued(std::string_view text) {
  std::vector<std::string_view> objects;
  for (skip_space(text); !text.empty(); skip_space(text)) {
    if (text.starts_with("data:")) {
      text.remove_prefix(5);
    } else if (text.starts_with("[DONE]")) {
      objects.push_back(text.substr(0, 6));
      text.remove_prefix(6);
    } else {
      const std::size_t end = text.front() == '{' ? end_of_object(text, 0) : std::string_view::npos;
      if (end == std::string_view::npos) {
        return {};
      }
      objects.push_back(text.substr(0, end));
      text.remove_prefix(end);
    }
  }
  return objects;
}

}  // namespace kf
