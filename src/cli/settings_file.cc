// SPDX-License-Identifier: Apache-2.0
// The one place that knows TOML.
#include <toml++/toml.h>
#include <charconv>
#include <filesystem>
#include <sstream>

#include "format/nearest.h"
#include "os/atomic_file.h"
#include "settings.h"
#include "words.h"

namespace kf {
namespace {

using Kind = SettingFacts::Kind;

std::string text_of(const toml::node& node) {
  if (const auto* value = node.as_string()) {
    return value->get();
  }
  if (const auto* value = node.as_floating_point()) {  // digits as written, never 1e-05
    char digits[64];
    return {digits, std::to_chars(digits, digits + sizeof digits, value->get(), std::chars_format::fixed).ptr};
  }
  std::ostringstream text;
  node.visit([&](const auto& value) { text << value; });
  return text.str();
}

// {model = "m-*", input = 1.25, output = 10, cached_input = 0.125}, {name = "x", value = "y"}: as the text form has it.
std::string text_of_entry(Kind kind, const toml::table& entry) {
  const auto field = [&](std::string_view name) {
    const toml::node* node = entry.get(name);
    return node == nullptr ? std::string() : text_of(*node);
  };
  if (kind == Kind::kPrices) {
    return quoted({field("model")}) + " " + field("input") + " " + field("output") + " " + field("cached_input");
  }
  const std::string variable = field("value_env");
  return field("name") + (variable.empty() ? ": " + field("value") : "=" + variable);
}

// A list becomes the text that a flag or variable would hold; nullopt: this setting is no list.
std::optional<std::string> text_of_list(Kind kind, const toml::array& list) {
  if (kind != Kind::kWords && kind != Kind::kPrices && kind != Kind::kHeaders) {
    return std::nullopt;
  }
  std::vector<std::string> items;
  for (const toml::node& item : list) {
    const toml::table* entry = item.as_table();
    items.push_back(entry != nullptr && kind != Kind::kWords ? text_of_entry(kind, *entry) : text_of(item));
  }
  if (kind == Kind::kWords) {
    return quoted(items);
  }
  std::string text;
  for (const std::string& item : items) {
    text += (text.empty() ? "" : "\n") + item;
  }
  return text;
}

Error unknown_key(const std::string& where, const std::string& key) {
  std::vector<std::string> known;
  for (const SettingFacts& facts : all_settings()) {
    known.emplace_back(facts.key);
  }
  const std::string meant = did_you_mean(key, known);
  return {where, "there is no setting \"" + key + "\"",
          meant + (meant.empty() ? "" : " ") + "kfactory config show lists them"};
}

void take_table(const toml::table& table, const std::string& prefix, SettingsFile& file, Errors& errors) {
  for (const auto& [name, node] : table) {
    const std::string key = prefix.empty() ? std::string(name.str()) : prefix + "." + std::string(name.str());
    if (const toml::table* inner = node.as_table()) {
      take_table(*inner, key, file, errors);
      continue;
    }
    const std::string where = file.path + ":" + std::to_string(node.source().begin.line);
    const SettingFacts* facts = setting_of(key);
    if (facts == nullptr) {
      errors.push_back(unknown_key(where, key));
      continue;
    }
    if (const toml::array* list = node.as_array()) {
      if (std::optional<std::string> text = text_of_list(facts->kind, *list)) {
        file.values[key] = std::move(*text);
      } else {
        errors.push_back({where, "\"" + key + "\" is one value, found a list", ""});
      }
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
