// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cstdint>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

// Reading JSON that others wrote: every field may be missing, null or of another type.

namespace kf {

// Discarded (is_discarded()) when it is not JSON, or nested more than 200 deep. Unpaired surrogate escapes, which
// JavaScript servers send when they cut a text between two UTF-16 units, become U+FFFD.
nlohmann::json read_json(std::string_view text);
// With invalid UTF-8 replaced by U+FFFD: never throws.
std::string write_json(const nlohmann::json& value);

// Null when there is no such field.
const nlohmann::json& field(const nlohmann::json& object, std::string_view name);
// Empty unless it is a string; numbers are written out, because some servers send codes as numbers.
std::string text_field(const nlohmann::json& object, std::string_view name);
// Non-negative integers (or floats without a fraction) only.
std::optional<std::int64_t> count_field(const nlohmann::json& object, std::string_view name);

// The JSON objects in a text such as `{...}{...}` or `{...}data: {...}data: [DONE]`, which servers that glue
// two frames on one line send. Empty when the text is anything else.
std::vector<std::string_view> split_glued(std::string_view text);

}  // namespace kf
