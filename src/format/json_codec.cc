// SPDX-License-Identifier: Apache-2.0
#include "format/json_codec.h"

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>

namespace kf {
namespace {

nlohmann::json& json_at(void* at) {
  return *static_cast<nlohmann::json*>(at);
}
const nlohmann::json& json_at(const void* at) {
  return *static_cast<const nlohmann::json*>(at);
}

std::string found(const nlohmann::json& value) {
  std::string text =
      value.is_structured() ? value.type_name() : value.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
  if (text.size() > 60) {
    text = text.substr(0, 60) + "...";
  }
  return text;
}

// The parser's recursion is as deep as the text nests; a bound keeps hostile text from the end of the stack.
constexpr int kMaxNesting = 64;
int nesting_of(std::string_view json) {
  int depth = 0, deepest = 0;
  bool in_string = false;
  for (std::size_t i = 0; i < json.size(); ++i) {
    const char c = json[i];
    if (in_string) {
      i += c == '\\' ? 1 : 0;
      in_string = c != '"';
    } else if (c == '"') {
      in_string = true;
    } else if (c == '[' || c == '{') {
      deepest = std::max(deepest, ++depth);
    } else if (c == ']' || c == '}') {
      --depth;
    }
  }
  return deepest;
}

}  // namespace

JsonWriter JsonWriter::member(std::string_view name) {
  return {&json_at(at_)[std::string(name)], *blob_};
}
JsonWriter JsonWriter::element() {
  json_at(at_).push_back(nullptr);
  return {&json_at(at_).back(), *blob_};
}
void JsonWriter::start_array() {
  json_at(at_) = nlohmann::json::array();
}
void JsonWriter::start_object() {
  json_at(at_) = nlohmann::json::object();
}
void JsonWriter::put(bool value) {
  json_at(at_) = value;
}
void JsonWriter::put(std::int64_t value) {
  json_at(at_) = value;
}
void JsonWriter::put(std::uint64_t value) {
  json_at(at_) = value;
}
void JsonWriter::put(double value) {
  if (std::isfinite(value)) {
    json_at(at_) = value;
  } else {
    json_at(at_) = std::isnan(value) ? "nan" : value > 0 ? "inf" : "-inf";
  }
}
void JsonWriter::put(std::string_view value) {
  json_at(at_) = std::string(value);
}
void JsonWriter::put(const Bytes& value) {
  json_at(at_) = nlohmann::json::array({blob_->size(), value.size()});
  blob_->insert(blob_->end(), value.begin(), value.end());
}

void JsonReader::fail(std::string what) {
  if (!*error_) {
    *error_ = Error{path_, std::move(what), ""};
  }
}

std::optional<JsonReader> JsonReader::member(std::string_view name) const {
  const auto entry = json_at(at_).find(std::string(name));
  if (entry == json_at(at_).end()) {
    return std::nullopt;
  }
  return JsonReader(&*entry, blob_, path_ + "." + std::string(name), *error_);
}

JsonReader JsonReader::element(std::size_t index) const {
  return {&json_at(at_)[index], blob_, path_ + "[" + std::to_string(index) + "]", *error_};
}

std::size_t JsonReader::array_size(std::size_t exactly) {
  if (!json_at(at_).is_array() || (exactly != kAnySize && json_at(at_).size() != exactly)) {
    const std::string wanted = exactly == kAnySize ? "an array" : "an array of " + std::to_string(exactly);
    fail("found " + found(json_at(at_)) + ", expected " + wanted);
    return 0;
  }
  return json_at(at_).size();
}

std::vector<std::string> JsonReader::keys() {
  std::vector<std::string> names;
  if (!json_at(at_).is_object()) {
    fail("found " + found(json_at(at_)) + ", expected an object");
    return names;
  }
  for (const auto& [name, value] : json_at(at_).items()) {
    names.push_back(name);
  }
  return names;
}

void JsonReader::get(bool& value) {
  if (!json_at(at_).is_boolean()) {
    return fail("found " + found(json_at(at_)) + ", expected true or false");
  }
  value = json_at(at_).get<bool>();
}

std::int64_t JsonReader::get_signed(std::int64_t low, std::int64_t high) {
  const bool small_enough =
      !json_at(at_).is_number_unsigned() || json_at(at_).get<std::uint64_t>() <= static_cast<std::uint64_t>(INT64_MAX);
  if (!json_at(at_).is_number_integer() || !small_enough || json_at(at_).get<std::int64_t>() < low ||
      json_at(at_).get<std::int64_t>() > high) {
    fail("found " + found(json_at(at_)) + ", expected an integer from " + std::to_string(low) + " to " +
         std::to_string(high));
    return low > 0 ? low : 0;
  }
  return json_at(at_).get<std::int64_t>();
}

std::uint64_t JsonReader::get_unsigned(std::uint64_t high) {
  const bool negative =
      json_at(at_).is_number_integer() && !json_at(at_).is_number_unsigned() && json_at(at_).get<std::int64_t>() < 0;
  if (!json_at(at_).is_number_integer() || negative || json_at(at_).get<std::uint64_t>() > high) {
    fail("found " + found(json_at(at_)) + ", expected an integer from 0 to " + std::to_string(high));
    return 0;
  }
  return json_at(at_).get<std::uint64_t>();
}

void JsonReader::get(double& value) {
  if (json_at(at_).is_number()) {
    value = json_at(at_).get<double>();
  } else if (json_at(at_) == "nan") {
    value = std::numeric_limits<double>::quiet_NaN();
  } else if (json_at(at_) == "inf") {
    value = std::numeric_limits<double>::infinity();
  } else if (json_at(at_) == "-inf") {
    value = -std::numeric_limits<double>::infinity();
  } else {
    fail("found " + found(json_at(at_)) + ", expected a number, \"nan\", \"inf\" or \"-inf\"");
  }
}

void JsonReader::get(std::string& value) {
  if (!json_at(at_).is_string()) {
    return fail("found " + found(json_at(at_)) + ", expected a string");
  }
  value = json_at(at_).get<std::string>();
}

void JsonReader::get(Bytes& value) {
  if (array_size(2) != 2) {
    return;
  }
  const std::uint64_t offset = element(0).get_unsigned(blob_.size());
  const std::uint64_t size = element(1).get_unsigned(blob_.size() - offset);
  if (*error_) {
    return;
  }
  const auto part = blob_.subspan(offset, size);
  value.assign(part.begin(), part.end());
}

void JsonReader::get(Digest& value) {
  std::string hex;
  get(hex);
  if (auto digest = digest_from_hex(hex)) {
    value = *digest;
  } else {
    fail(digest.error().what);
  }
}

std::size_t JsonReader::get_word(std::span<const std::string_view> words) {
  std::string text;
  get(text);
  std::string allowed;
  for (std::size_t i = 0; i < words.size(); ++i) {
    if (words[i] == text) {
      return i;
    }
    allowed += (i == 0 ? "" : ", ") + std::string(words[i]);
  }
  fail("found " + found(json_at(at_)) + ", expected one of " + allowed);
  return 0;
}

Encoded encode_with(const std::function<void(JsonWriter&)>& write) {
  nlohmann::json root;
  Encoded encoded;
  JsonWriter writer(&root, encoded.blob);
  write(writer);
  encoded.json = root.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
  return encoded;
}

std::optional<Error> decode_with(std::string_view json, std::span<const std::byte> blob,
                                 const std::function<void(JsonReader&)>& read) {
  if (nesting_of(json) > kMaxNesting) {
    return Error{"$", "brackets nest deeper than " + std::to_string(kMaxNesting), ""};
  }
  const nlohmann::json root = nlohmann::json::parse(json, nullptr, false);
  if (root.is_discarded()) {
    return Error{"$", "not JSON", ""};
  }
  std::optional<Error> error;
  JsonReader reader(&root, blob, "$", error);
  read(reader);
  return error;
}

}  // namespace kf
