// SPDX-License-Identifier: Apache-2.0
#include "continuation.h"

#include <fmt/format.h>

#include "setting_values.h"
#include "words.h"

namespace kf {
namespace {

class CommandLine {
 public:
  explicit CommandLine(const std::string& program) : text_(shell_quoted(program)) {}
  void word(std::string_view word) { text_ += " " + shell_quoted(word); }
  void flag(std::string_view name, bool given) {
    if (given) {
      word(name);
    }
  }
  void option(std::string_view name, const std::string& value) {
    if (!value.empty()) {
      word(name);
      word(value);
    }
  }
  const std::string& text() const { return text_; }

 private:
  std::string text_;
};

void add_setting(CommandLine& line, const SettingFacts& facts, const std::string& value) {
  if (facts.kind != SettingFacts::Kind::kPrices) {
    line.word(facts.flag);
    line.word(shown_value(facts.key, value));
    return;
  }
  std::size_t from = 0;  // several were given, one a line
  for (std::size_t end = value.find('\n'); end != std::string::npos; end = value.find('\n', from)) {
    line.option(facts.flag, value.substr(from, end - from));
    from = end + 1;
  }
  line.option(facts.flag, value.substr(from));
}

}  // namespace

std::string continuation(const Options& options, const std::string& folder, const Map<std::string>& changed) {
  CommandLine line(options.program);
  line.word("run");
  line.word(options.spec);
  line.option("--out", folder);
  line.word("--resume");
  line.option("--replay", options.replay);
  line.option("--exchange", options.exchange);
  line.flag("--no-wait", options.no_wait);
  line.option("--record", options.record);
  line.option("--lessons", options.lessons);
  for (const SettingFacts& facts : all_settings()) {
    const std::string key(facts.key);
    if (const auto other = changed.find(key); other != changed.end()) {
      add_setting(line, facts, other->second);
    } else if (const auto given = options.flags.find(key); given != options.flags.end()) {
      add_setting(line, facts, given->second);
    }
  }
  line.flag("--trust-project", options.trust_project);
  line.option("--config", options.config_file);
  line.flag("--json", options.json);
  return line.text();
}

std::string needed_variables(const Settings& settings) {
  std::string names;
  const auto add = [&](std::string_view key) {
    if (settings.origin(key) == environment_name(key)) {
      names += (names.empty() ? "" : ", ") + environment_name(key);
    }
  };
  for (const SettingFacts& facts : all_settings()) {
    add(facts.key);
  }
  for (const std::string& key : settings.role_keys()) {
    add(key);
  }
  return names;
}

Map<std::string> larger_budget(const Options& options, const Budget& budget, const RunResult& result) {
  if (result.reason != StopReason::kBudget) {
    return {};
  }
  const auto ended_by = [&](std::string_view what) { return result.detail.starts_with(what); };
  if (ended_by("attempts")) {
    return options.replay.empty() ? Map<std::string>{{"run.attempts", std::to_string(2 * budget.attempts)}}
                                  : Map<std::string>{};
  }
  if (ended_by("wall time")) {
    return {{"run.wall", std::to_string(2 * budget.wall.count()) + "ms"}};
  }
  if (ended_by("tokens")) {
    return {{"run.tokens", std::to_string(2 * budget.tokens)}};
  }
  if (ended_by("cost")) {
    return {{"run.cost", fmt::format("{:g}", 2e-9 * static_cast<double>(budget.cost_nanodollars))}};
  }
  return {};
}

}  // namespace kf
