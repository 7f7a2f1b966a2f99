// SPDX-License-Identifier: Apache-2.0
// kfactory config show: every setting, its value and where it comes from. No setting holds a key, so none is shown.
#include <cstdlib>

#include "commands.h"

namespace kf {

int config_command(Session& session) {
  Table table({"setting", "value", "from", "flag", "environment"});
  for (const SettingFacts& facts : all_settings()) {
    const std::string& value = session.settings.text(facts.key);
    table.add({std::string(facts.key), value.empty() ? "\"\"" : value, session.settings.origin(facts.key),
               std::string(facts.flag), environment_name(facts)});
  }
  for (const std::string& line : table.lines()) {
    session.console.line(line);
  }
  for (const std::string& name :
       {std::string("OPENAI_API_KEY"), std::string("ANTHROPIC_API_KEY"), session.settings.text("model.api_key_env")}) {
    if (!name.empty()) {
      const char* key = std::getenv(name.c_str());
      session.console.line(name + ": " + (key != nullptr && *key != '\0' ? "set (not shown)" : "not set"));
    }
  }
  return exits::kDone;
}

}  // namespace kf
