// SPDX-License-Identifier: Apache-2.0
// kfactory config show: every setting, its value and where it comes from. No setting holds a key, so none is shown.
#include <algorithm>
#include <cstdlib>

#include "commands.h"
#include "models.h"
#include "setting_values.h"

namespace kf {
namespace {

std::string one_line(std::string text) {
  for (std::size_t at = text.find('\n'); at != std::string::npos; at = text.find('\n', at)) {
    text.replace(at, 1, "; ");
  }
  return text;
}

}  // namespace

int config_command(Session& session) {
  // Its names are those of the settings, and too long to be broken.
  constexpr int kColumnsForAll = 110;
  const bool all = session.console.terminal().columns >= kColumnsForAll;
  std::vector<std::string> head{"setting", "value", "from", "flag"};
  if (all) {
    head.emplace_back("environment");
  }
  Table table(std::move(head));
  const auto add = [&](std::string_view key, std::string_view flag) {
    const std::string value = one_line(shown_value(key, session.settings.text(key)));
    std::vector<std::string> row{std::string(key), value.empty() ? "\"\"" : value, session.settings.origin(key),
                                 flag.empty() ? "-" : std::string(flag)};
    if (all) {
      row.push_back(environment_name(key));
    }
    table.add(std::move(row));
  };
  for (const SettingFacts& facts : all_settings()) {
    add(facts.key, facts.flag);
  }
  for (const std::string& key : session.settings.role_keys()) {
    add(key, "");
  }
  session.console.table(table);
  if (!all) {
    session.console.line("from the environment: KFACTORY_ and the name in capitals: " + environment_name("run.wall"),
                         Ink::kDim);
  }
  for (const std::string& name : secret_variables(session.settings)) {
    if (!names_a_variable(name) && std::getenv(name.c_str()) == nullptr) {
      continue;
    }
    const char* key = std::getenv(name.c_str());
    session.console.line(name + ": " + (key != nullptr && *key != '\0' ? "set (not shown)" : "not set"));
  }
  return exits::kDone;
}

}  // namespace kf
