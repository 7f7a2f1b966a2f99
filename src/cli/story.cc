// SPDX-License-Identifier: Apache-2.0
#include "story.h"

#include <fmt/format.h>

#include <algorithm>

#include <kfactory/attempt.h>
#include <kfactory/verdict.h>

#include "format/json_tree.h"

namespace kf {
namespace {

// Members that may be missing: records of other versions are still told.
struct Fields {
  const JsonNode* node = nullptr;

  Fields in(std::string_view key) const { return {node == nullptr ? nullptr : node->member(key)}; }
  bool there() const { return node != nullptr && node->kind != JsonNode::Kind::kNull; }
  bool yes() const { return node != nullptr && node->boolean; }
  std::string text() const { return node == nullptr ? "" : node->text; }
  std::int64_t count() const { return node == nullptr ? 0 : node->integer; }
  double number() const { return node == nullptr ? 0 : node->number; }
  std::size_t size() const { return node == nullptr ? 0 : node->items.size(); }
};

std::string line(std::string_view what, const std::string& text) {
  return fmt::format("{:<10} {}", what, text);
}

std::string tokens_of(const Fields& usage) {
  const auto count = [&](std::string_view known, std::string_view estimate) {
    return usage.in(known).there() ? std::to_string(usage.in(known).count())
                                   : "about " + std::to_string(usage.in(estimate).count());
  };
  return count("input_tokens", "estimated_input_tokens") + " + " + count("output_tokens", "estimated_output_tokens") +
         " tokens";
}

std::string asked(const Fields& json) {
  const std::string who = json.in("role").text() + " " + std::to_string(json.in("ordinal").count());
  return line("asked", json.in("reask").yes() ? who + ": the same again, with what was wrong with the answer" : who);
}

std::string answered(const Fields& json) {
  if (const Fields error = json.in("error"); error.there()) {
    return line("no answer", error.in("kind").text() + ": " + error.in("message").text());
  }
  const std::string model = json.in("model").text();
  const std::int64_t tries = json.in("tries").count();
  return line("answered",
              fmt::format("{}, {}{:.1f} s, {}", model.empty() ? "unnamed model" : model,
                          tries > 1 ? std::to_string(tries) + " tries, " : "",
                          static_cast<double>(json.in("latency_ms").count()) / 1e3, tokens_of(json.in("usage"))));
}

std::string read(const Fields& json) {
  const Fields errors = json.in("errors");
  if (errors.size() == 0) {
    return line("candidate", "source " + json.in("source_sha256").text().substr(0, 8));
  }
  const Fields first{&errors.node->items.front()};
  return line("unreadable", first.in("where").text() + ": " + first.in("what").text() +
                                (errors.size() > 1 ? fmt::format(" (and {} more)", errors.size() - 1) : ""));
}

std::string built(const Fields& json) {
  const std::string of = json.in("case").text();
  return json.in("failure").there() ? line("not built", of + ": " + json.in("failure").in("kind").text())
                                    : line("built", of + " by " + json.in("toolchain").text());
}

std::string judged(const Fields& verdict) {
  const std::string gate = verdict.in("gate").text();
  const std::int64_t checks = verdict.in("checks").count();
  const std::string after = checks > 0 ? fmt::format(" ({} launch{} compared", checks, checks == 1 ? "" : "es") : "";
  if (verdict.in("passed").yes()) {
    return line("passed", gate + (after.empty() ? "" : after + " so far)"));
  }
  const std::string where = verdict.in("case_id").text();
  return line("refused", gate + ": " + verdict.in("reason").text() + (where.empty() ? "" : " in " + where) +
                             (after.empty() ? "" : after + ")"));
}

std::string scored(const Fields& score) {
  const bool estimate = score.in("method").text() == "estimate";
  return line(estimate ? "estimated" : "scored",
              fmt::format("{:.3f}x against the baseline ({}){}", score.in("speedup").number(),
                          score.in("against_baseline").text(), score.in("confirmed").yes() ? ", confirmed" : ""));
}

std::string closed(const Fields& json) {
  std::vector<CheckedSet> checked;
  const Fields sets = json.in("checked");
  for (std::size_t i = 0; i < sets.size(); ++i) {
    const Fields of{&sets.node->items[i]};
    checked.push_back({of.in("set").text(), of.in("checked").count(), of.in("left_out").count(), of.in("why").text()});
  }
  return line("closed", fmt::format("{} after {:.1f} s{}", json.in("state").text(),
                                    static_cast<double>(json.in("duration_ms").count()) / 1e3,
                                    checked.empty() ? "" : "; checked: " + to_string(checked)));
}

// Of which gate a verdict is; empty for other records.
std::string gate_of(const Record& record) {
  if (record.stage != Stage::kVerdict) {
    return {};
  }
  const OrErrors<JsonNode> tree = parse_json_tree(record.json, "");
  return tree ? Fields{&*tree}.in("verdict").in("gate").text() : "";
}

// The same gate twice in a row: of the probe, then of all cases. The second verdict holds the first one's checks too.
bool passed_once_more(const Record& record, const Record* before) {
  if (before == nullptr || gate_of(record).empty() || gate_of(record) != gate_of(*before)) {
    return false;
  }
  const auto passed = [](const Record& of) {
    const OrErrors<JsonNode> tree = parse_json_tree(of.json, "");
    return tree && Fields{&*tree}.in("verdict").in("passed").yes();
  };
  return passed(record) && passed(*before);
}

}  // namespace

std::vector<std::string> story_of(std::span<const Record> records) {
  std::vector<std::string> lines;
  std::size_t built_from = 0;  // builds are recorded before the audit of the source that let them be made
  bool closed = false;
  const Record* before = nullptr;  // the one told last
  for (const Record& record : records) {
    if (closed && record.stage != Stage::kClosed) {
      lines.push_back(line("again", "to confirm it: in a fresh process, with fresh seeds"));
      closed = false;
    }
    closed = closed || record.stage == Stage::kClosed;
    std::string words = told(record);
    if (words.empty()) {
      continue;
    }
    if (passed_once_more(record, before)) {
      lines.back() = std::move(words);
    } else if (gate_of(record) == to_string(Gate::kSourceAudit)) {
      lines.insert(lines.begin() + static_cast<std::ptrdiff_t>(std::min(built_from, lines.size())), std::move(words));
    } else {
      lines.push_back(std::move(words));
    }
    if (record.stage != Stage::kBuilt) {
      built_from = lines.size();
    }
    before = &record;
  }
  return lines;
}

std::string told(const Record& record) {
  const OrErrors<JsonNode> tree = parse_json_tree(record.json, "");
  if (!tree) {
    return line(to_string(record.stage), "this record cannot be read");
  }
  const Fields json{&*tree};
  switch (record.stage) {
    case Stage::kOpened:
      return asked(json);
    case Stage::kReplied:
      return answered(json);
    case Stage::kCandidate:
      return read(json);
    case Stage::kBuilt:
      return built(json);
    case Stage::kVerdict:
      return judged(json.in("verdict"));
    case Stage::kMeasured:
      return line(json.in("method").text() == "estimate" ? "estimated" : "measured",
                  fmt::format("{} cases, every sample is in the ledger", json.in("case").size()));
    case Stage::kScored:
      return scored(json.in("score"));
    case Stage::kClosed:
      return closed(json);
    default:
      return {};
  }
}

}  // namespace kf
