// SPDX-License-Identifier: Apache-2.0
#include "names.h"

#include <algorithm>
#include <array>

namespace kf {
namespace {

constexpr std::array<std::string_view, 95> kKeywords{
    "alignas",     "alignof",   "and",        "and_eq",    "asm",      "auto",         "bitand",
    "bitor",       "bool",      "break",      "case",      "catch",    "char",         "char8_t",
    "char16_t",    "char32_t",  "class",      "compl",     "concept",  "const",        "consteval",
    "constexpr",   "constinit", "const_cast", "continue",  "co_await", "co_return",    "co_yield",
    "decltype",    "default",   "delete",     "do",        "double",   "dynamic_cast", "else",
    "enum",        "explicit",  "export",     "extern",    "false",    "float",        "for",
    "friend",      "goto",      "if",         "inline",    "int",      "long",         "mutable",
    "namespace",   "new",       "noexcept",   "not",       "not_eq",   "nullptr",      "operator",
    "or",          "or_eq",     "private",    "protected", "public",   "register",     "reinterpret_cast",
    "requires",    "return",    "short",      "signed",    "sizeof",   "static",       "static_assert",
    "static_cast", "struct",    "switch",     "template",  "this",     "thread_local", "throw",
    "true",        "try",       "typedef",    "typeid",    "typename", "union",        "unsigned",
    "using",       "virtual",   "void",       "volatile",  "wchar_t",  "while",        "xor",
    "xor_eq",      "defined",   "final",      "override"};
constexpr std::array<std::string_view, 8> kFunctionNames{"ceil_div",  "round_up", "min",   "max",
                                                         "pow2_ceil", "has",      "align", "resident"};

bool is_letter(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_';
}

}  // namespace

bool is_identifier(std::string_view name) {
  return !name.empty() && is_letter(name[0]) &&
         std::ranges::all_of(name, [](char c) { return is_letter(c) || (c >= '0' && c <= '9'); });
}

const std::vector<std::string>& device_names() {
  static const std::vector<std::string> kNames{"sm_count", "l2_bytes", "smem_per_block", "smem_per_sm"};
  return kNames;
}

std::optional<std::string> why_no_name(std::string_view name) {
  constexpr std::size_t kLongest = 64;
  const std::string quoted = "\"" + std::string(name.substr(0, kLongest)) + "\"";
  if (!is_identifier(name) || name.size() > kLongest) {
    return quoted + " is no name: letters, digits and _ are allowed, not a digit first, at most 64 characters";
  }
  if (std::ranges::find(kKeywords, name) != kKeywords.end()) {
    return quoted + " is a C++ keyword";
  }
  if (std::ranges::find(kFunctionNames, name) != kFunctionNames.end() ||
      std::ranges::find(device_names(), name) != device_names().end()) {
    return quoted + " has a meaning of its own in expressions";
  }
  return std::nullopt;
}

std::optional<std::string> why_no_define(std::string_view name) {
  if (const auto reason = why_no_name(name)) {
    return reason;
  }
  const auto letters = std::ranges::count_if(name, [](char c) { return is_letter(c) && c != '_'; });
  if (letters < 3) {
    return "\"" + std::string(name) + "\" is too short for a macro: names of three letters or more are allowed, " +
           "because short ones break the toolkit's headers";
  }
  if (name.starts_with("KF_") || name.starts_with("_")) {
    return "\"" + std::string(name) + "\" is reserved: no leading underscore, no KF_ prefix";
  }
  return std::nullopt;
}

}  // namespace kf
