// SPDX-License-Identifier: Apache-2.0
#include "entry_facts.h"

#include <charconv>
#include <string>

namespace kf {
namespace {

bool is_word(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' || c == '$';
}

// "x" after `prefix` as an integer; -1: none.
int number_after(std::string_view text, std::string_view prefix) {
  const std::size_t found = text.find(prefix);
  if (found == std::string_view::npos) {
    return -1;
  }
  int value = -1;
  std::from_chars(text.data() + found + prefix.size(), text.data() + text.size(), value);
  return value;
}

// ".param .align 64 .b8 name[128]" or ".param .u64 .ptr .global .align 1 name".
int parameter_bytes(std::string_view parameter) {
  int element = 0;
  for (const char kind : {'b', 'u', 's', 'f'}) {
    for (const int bits : {8, 16, 32, 64}) {
      const std::string type = std::string(" .") + kind + std::to_string(bits);
      const std::size_t found = parameter.find(type);
      if (found != std::string_view::npos &&
          (found + type.size() == parameter.size() || !is_word(parameter[found + type.size()]))) {
        element = bits / 8;
      }
    }
  }
  const int count = number_after(parameter, "[");
  return count < 0 ? element : element * count;
}

std::optional<std::array<int, 3>> triple(std::string_view header, std::string_view directive) {
  std::size_t at = header.find(directive);
  if (at == std::string_view::npos) {
    return std::nullopt;
  }
  std::array<int, 3> value{1, 1, 1};
  at += directive.size();
  for (int& axis : value) {
    at = header.find_first_not_of(" \t", at);
    if (at == std::string_view::npos) {
      break;
    }
    const auto [end, error] = std::from_chars(header.data() + at, header.data() + header.size(), axis);
    at = static_cast<std::size_t>(end - header.data());
    if (error != std::errc{} || at >= header.size() || header[at] != ',') {
      break;
    }
    ++at;
  }
  return value;
}

std::size_t find_entry(std::string_view ptx, std::string_view entry) {
  constexpr std::string_view kDirective = ".entry ";
  for (std::size_t at = ptx.find(kDirective); at != std::string_view::npos; at = ptx.find(kDirective, at + 1)) {
    const std::size_t name = at + kDirective.size();
    if (ptx.substr(name).starts_with(entry) &&
        (name + entry.size() == ptx.size() || !is_word(ptx[name + entry.size()]))) {
      return name + entry.size();
    }
  }
  return std::string_view::npos;
}

}  // namespace

std::optional<EntryFacts> entry_facts(std::string_view ptx, std::string_view entry) {
  const std::size_t after_name = find_entry(ptx, entry);
  if (after_name == std::string_view::npos) {
    return std::nullopt;
  }
  const std::size_t body = ptx.find('{', after_name);
  const std::string_view header = ptx.substr(after_name, body == std::string_view::npos ? body : body - after_name);
  EntryFacts facts;
  std::string_view directives = header;
  const std::size_t open = header.find_first_not_of(" \t\r\n");
  if (open != std::string_view::npos && header[open] == '(') {
    const std::size_t close = header.find(')', open);
    if (close == std::string_view::npos) {
      return std::nullopt;
    }
    directives = header.substr(close + 1);
    std::string_view list = header.substr(open + 1, close - open - 1);
    while (list.find(".param") != std::string_view::npos) {
      const std::size_t comma = list.find(',');
      const int bytes = parameter_bytes(list.substr(0, comma));
      if (bytes <= 0) {
        return std::nullopt;
      }
      facts.parameter_bytes.push_back(bytes);
      list = comma == std::string_view::npos ? std::string_view{} : list.substr(comma + 1);
    }
  }
  facts.required_block = triple(directives, ".reqntid");
  facts.largest_block = triple(directives, ".maxntid");
  facts.required_cluster = triple(directives, ".reqnctapercluster");
  return facts;
}

}  // namespace kf
