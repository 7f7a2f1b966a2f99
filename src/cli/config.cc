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
  Table table({"setting", "value", "from", "flag", "environment"});
  const auto add = [&](std::string_view key, std::string_view flag) {
    const std::string value = one_line(shown_value(key, session.settings.text(key)));
    table.add({std::string(key), value.empty() ? "\"\"" : value, session.settings.origin(key),
               flag.empty() ? "-" : std::string(flag), environment_name(key)});
  };
  for (const SettingFacts& facts : all_settings()) {
    add(facts.key, facts.flag);
  }
  for (const std::string& key : session.settings.role_keys()) {
    add(key, "");
  }
  session.console.table(table);
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
