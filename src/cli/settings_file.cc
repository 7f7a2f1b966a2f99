// SPDX-License-Identifier: Apache-2.0
// The one place that knows TOML.
#include <toml++/toml.h>
#include <algorithm>
#include <filesystem>
#include <sstream>

#include "os/atomic_file.h"
#include "settings.h"

namespace kf {
namespace {

std::string text_of(const toml::node& node) {
  std::ostringstream text;
  if (const auto* value = node.as_string()) {
    return value->get();
  }
  node.visit([&](const auto& value) { text << value; });
  return text.str();
}

void take_table(const toml::table& table, const std::string& prefix, SettingsFile& file, Errors& errors) {
  for (const auto& [name, node] : table) {
    const std::string key = prefix.empty() ? std::string(name.str()) : prefix + "." + std::string(name.str());
    if (const toml::table* inner = node.as_table()) {
      take_table(*inner, key, file, errors);
      continue;
    }
    if (std::ranges::find(all_settings(), key, &SettingFacts::key) == all_settings().end()) {
      errors.push_back({file.path + ":" + std::to_string(node.source().begin.line),
                        "there is no setting \"" + key + "\"", "kfactory config show lists them"});
      continue;
    }
    file.values[key] = text_of(node);
  }
}

}  // namespace

OrErrors<std::optional<SettingsFile>> read_settings_file(const std::string& path) {
  std::error_code ignored;
  if (!std::filesystem::exists(path, ignored)) {
    return std::nullopt;
  }
  const OrError<std::string> text = read_file(path, 1 << 20);
  if (!text) {
    return std::unexpected(Errors{text.error()});
  }
  SettingsFile file{path, {}};
  Errors errors;
  try {
    take_table(toml::parse(*text, path), "", file, errors);
  } catch (const toml::parse_error& error) {
    errors.push_back(
        {path + ":" + std::to_string(error.source().begin.line), std::string(error.description()), "the file is TOML"});
  }
  return errors.empty() ? OrErrors<std::optional<SettingsFile>>(std::move(file)) : std::unexpected(std::move(errors));
}

}  // namespace kf
