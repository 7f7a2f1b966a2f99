// SPDX-License-Identifier: Apache-2.0
// A candidate whose tune points were measured becomes one that says by itself which of them holds where: `select` takes
// the place of `tune` in its plan's text, everything else stays as its author wrote it.
#include <kfactory/plan.h>

#include <algorithm>
#include <optional>

namespace kf {
namespace {

// Where a string literal that opens at `at` ends: one past its closing quote.
std::size_t past_string(std::string_view json, std::size_t at) {
  for (++at; at < json.size() && json[at] != '"'; ++at) {
    at += json[at] == '\\' ? 1 : 0;
  }
  return at + 1;
}

struct Span {
  std::size_t begin = 0, end = 0;
};

// The member `key` of the outermost object, from its key's quote to past its value, which is an object.
std::optional<Span> object_member(std::string_view json, std::string_view key) {
  int depth = 0;
  std::optional<Span> member;
  for (std::size_t at = 0; at < json.size();) {
    const char here = json[at];
    if (here == '"') {
      const std::size_t end = past_string(json, at);
      const bool is_key = depth == 1 && json.substr(at + 1, end - at - 2) == key &&
                          json.find_first_not_of(" \t\r\n", end) == json.find(':', end);
      if (is_key && !member) {
        member = Span{at, 0};
      }
      at = end;
      continue;
    }
    depth += here == '{' || here == '[' ? 1 : here == '}' || here == ']' ? -1 : 0;
    ++at;
    if (member && here == '}' && depth == 1) {
      member->end = at;
      return member;
    }
  }
  return std::nullopt;
}

std::string select_text(const std::vector<Selection>& selections) {
  std::string text = "\"select\": [";
  for (const Selection& selection : selections) {
    text += &selection == &selections.front() ? "{" : ", {";
    text += selection.when.empty() ? "" : "\"when\": \"" + selection.when + "\", ";
    text += "\"set\": {";
    bool first = true;
    for (const auto& [name, value] : selection.set) {
      text += (first ? "\"" : ", \"") + name + "\": " + std::to_string(value);
      first = false;
    }
    text += "}}";
  }
  return text + "]";
}

}  // namespace

OrErrors<Candidate> settle(const Candidate& candidate, const std::vector<Selection>& selections,
                           const std::string& name) {
  if (!candidate.plan.select.empty()) {
    return std::unexpected(
        Errors{{name, "has a \"select\" of its own beside \"tune\"",
                "leave the choice to one of them: without \"select\" tune points are chosen by time"}});
  }
  const std::string& json = candidate.plan.json;
  const std::size_t plan_at = candidate.plan.json_begin;
  const std::optional<Span> tune = object_member(json, "tune");
  if (json.empty() || candidate.source.compare(std::min(plan_at, candidate.source.size()), json.size(), json) != 0 ||
      !tune || selections.empty()) {
    return std::unexpected(Errors{{name, "has no \"tune\" to settle", ""}});
  }
  std::string source = candidate.source;
  source.replace(plan_at + tune->begin, tune->end - tune->begin, select_text(selections));
  return parse_candidate(source, name);
}

}  // namespace kf
