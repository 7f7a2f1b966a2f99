// SPDX-License-Identifier: Apache-2.0
#include "agent/prompts.h"

#include <algorithm>
#include <cstdio>
#include <set>

#include <kfactory/embedded.h>
#include <kfactory/error.h>

namespace kf {
namespace {

bool is_name_letter(char c) {
  return (c >= 'a' && c <= 'z') || c == '_';
}

// The name of a placeholder that starts at `at` ("{{name}}"); empty when there is none.
std::string_view placeholder_at(std::string_view text, std::size_t at) {
  if (!text.substr(at).starts_with("{{")) {
    return {};
  }
  std::size_t end = at + 2;
  while (end < text.size() && is_name_letter(text[end])) {
    ++end;
  }
  return text.substr(end).starts_with("}}") ? text.substr(at + 2, end - at - 2) : std::string_view();
}

// Cases that no prompt may name start with this.
constexpr std::string_view kHeldOut = "held_out/";

std::string without_held_out(std::string text) {
  for (std::size_t at = text.find(kHeldOut); at != std::string::npos; at = text.find(kHeldOut, at)) {
    std::size_t end = at;
    while (end < text.size() && text[end] != ' ' && text[end] != '\n' && text[end] != '"' && text[end] != ')') {
      ++end;
    }
    text.replace(at, end - at, "(a held-out case)");
  }
  return text;
}

// Does not cut a UTF-8 character in two.
std::size_t boundary(std::string_view text, std::size_t at) {
  while (at > 0 && (static_cast<unsigned char>(text[at]) & 0xc0) == 0x80) {
    --at;
  }
  return at;
}

}  // namespace

std::vector<std::string> placeholders(std::string_view text) {
  std::vector<std::string> names;
  for (std::size_t at = text.find("{{"); at != std::string_view::npos; at = text.find("{{", at + 2)) {
    const std::string name(placeholder_at(text, at));
    if (!name.empty() && std::ranges::find(names, name) == names.end()) {
      names.push_back(name);
    }
  }
  return names;
}

std::string fill_prompt(std::string_view name, const Map<std::string>& values) {
  const std::string path = "src/agent/prompts/" + std::string(name) + ".md";
  const std::string_view text = embedded_file(path);
  std::set<std::string_view> used;
  std::string filled;
  std::size_t at = 0;
  while (at < text.size()) {
    const std::string_view key = placeholder_at(text, at);
    if (key.empty()) {
      filled += text[at++];
      continue;
    }
    const auto value = values.find(key);
    if (value == values.end()) {
      throw Fatal(path + " asks for {{" + std::string(key) + "}}, for which there is no value");
    }
    used.insert(value->first);
    const std::size_t last = value->second.find_last_not_of('\n');  // the template has its own line ends
    filled += value->second.substr(0, last == std::string::npos ? 0 : last + 1);
    at += key.size() + 4;
  }
  for (const auto& [key, value] : values) {
    if (!used.contains(key)) {
      throw Fatal(path + " has no {{" + key + "}}");
    }
  }
  return filled;
}

std::string safe_text(std::string_view text, std::size_t limit) {
  std::string clean;
  for (const char c : text) {
    const auto byte = static_cast<unsigned char>(c);
    if (byte >= 32 ? byte != 127 : c == '\n' || c == '\t') {
      clean += c;
    }
  }
  clean = without_held_out(std::move(clean));
  if (clean.size() <= limit) {
    return clean;
  }
  const std::size_t kept = boundary(clean, limit);
  return clean.substr(0, kept) + "\n[" + std::to_string(clean.size() - kept) + " bytes left out]";
}

std::string safe_line(std::string_view text, std::size_t limit) {
  std::string line = safe_text(text, text.size());
  std::ranges::replace(line, '\n', ' ');
  std::ranges::replace(line, '\t', ' ');
  std::ranges::replace(line, '|', '/');  // tables
  return line.size() <= limit ? line : line.substr(0, boundary(line, limit)) + "...";
}

std::string fenced(std::string_view language, std::string_view text) {
  std::size_t longest = 2;
  std::size_t run = 0;
  for (const char c : text) {
    run = c == '`' ? run + 1 : 0;
    longest = std::max(longest, run);
  }
  const std::string fence(longest + 1, '`');
  return fence + std::string(language) + "\n" + std::string(text) + (text.ends_with('\n') ? "" : "\n") + fence;
}

std::string decimal(double value, int digits) {
  char text[64];
  std::snprintf(text, sizeof text, "%.*f", digits, value);
  return text;
}

}  // namespace kf
