// SPDX-License-Identifier: Apache-2.0
#include "settings.h"

#include <algorithm>
#include <array>
#include <cstdlib>

#include "setting_values.h"

namespace kf {
namespace {

// What says where requests and keys go.
constexpr std::array<std::string_view, 5> kEndpoint{"model.base_url", "model.api_key_env", "model.api_key_header",
                                                    "model.extra_headers", "model.key_over_plain_http"};

std::string own_key(std::string_view role, std::string_view key) {
  return "model." + std::string(role) + std::string(key.substr(std::string_view("model").size()));
}

// Every key that can be set: the settings, then those of the roles.
std::vector<std::string> all_keys() {
  std::vector<std::string> keys;
  for (const SettingFacts& facts : all_settings()) {
    keys.emplace_back(facts.key);
  }
  for (const std::string_view role : roles_with_models()) {
    for (const SettingFacts& facts : all_settings()) {
      if (const std::string key = own_key(role, facts.key);
          facts.key.starts_with("model.") && setting_of(key) != nullptr) {
        keys.push_back(key);
      }
    }
  }
  return keys;
}

Error not_for_a_project(const std::string& path, const std::string& key) {
  return {path + ": " + key, "a project file may not set this: it decides where keys are sent or what is executed",
          "move it to your own file, or pass --trust-project if you trust this folder"};
}

}  // namespace

OrErrors<Settings> Settings::resolve(const SettingLayers& layers) {
  Settings settings;
  Errors errors;
  for (const std::string& key : all_keys()) {
    const SettingFacts& facts = *setting_of(key);
    std::optional<Value> value;
    if (facts.key == key) {
      value = Value{std::string(facts.fallback), "built in"};
    }
    const auto take = [&](const std::optional<SettingsFile>& file) {
      if (file && file->values.contains(key)) {
        value = {file->values.at(key), file->path};
      }
    };
    take(layers.user);
    const bool in_project = layers.project && layers.project->values.contains(key);
    if (in_project && facts.trusted_only && !layers.trust_project) {
      errors.push_back(not_for_a_project(layers.project->path, key));
    } else {
      take(layers.project);
    }
    const std::string variable = environment_name(key);
    if (const std::optional<std::string> set = layers.environment ? layers.environment(variable) : std::nullopt) {
      value = {*set, variable};
    }
    if (const auto flag = layers.flags.find(key); flag != layers.flags.end()) {
      value = {flag->second, "flag " + std::string(facts.flag)};
    }
    if (!value) {
      continue;
    }
    if (std::optional<Error> error = value_error(facts, value->text, value->origin + " (" + key + ")")) {
      errors.push_back(std::move(*error));
    }
    settings.values_[key] = std::move(*value);
  }
  return errors.empty() ? OrErrors<Settings>(std::move(settings)) : std::unexpected(std::move(errors));
}

const Settings::Value& Settings::of(std::string_view key) const {
  const auto found = values_.find(key);
  if (found == values_.end()) {
    throw Fatal("there is no setting called " + std::string(key));
  }
  return found->second;
}

const std::string& Settings::text(std::string_view key) const {
  return of(key).text;
}
const std::string& Settings::origin(std::string_view key) const {
  return of(key).origin;
}

std::int64_t Settings::count(std::string_view key) const {
  return std::strtoll(of(key).text.c_str(), nullptr, 10);
}

std::chrono::milliseconds Settings::time(std::string_view key) const {
  return time_from_text(of(key).text).value_or(std::chrono::milliseconds(0));
}

std::int64_t Settings::nanodollars(std::string_view key) const {
  return nanodollars_from_text(of(key).text).value_or(0);
}

double Settings::share(std::string_view key) const {
  return number(key).value_or(0);
}

bool Settings::yes(std::string_view key) const {
  return of(key).text == "true";
}

std::optional<double> Settings::number(std::string_view key) const {
  return number_from_text(of(key).text).value_or(std::nullopt);
}

std::vector<std::string> Settings::role_keys() const {
  std::vector<std::string> keys;
  for (const auto& [key, value] : values_) {
    if (!role_of_key(key).empty()) {
      keys.push_back(key);
    }
  }
  return keys;
}

std::vector<std::string> Settings::roles() const {
  std::vector<std::string> roles;
  for (const std::string& key : role_keys()) {
    if (const std::string role(role_of_key(key)); std::ranges::find(roles, role) == roles.end()) {
      roles.push_back(role);
    }
  }
  return roles;
}

Settings Settings::for_role(std::string_view role) const {
  Settings own = *this;
  if (values_.contains(own_key(role, "model.provider")) || values_.contains(own_key(role, "model.base_url"))) {
    for (const std::string_view key : kEndpoint) {
      own.values_[std::string(key)] = {std::string(setting_of(key)->fallback), "built in"};
    }
  }
  for (const SettingFacts& facts : all_settings()) {
    if (facts.key.starts_with("model.")) {
      if (const auto found = values_.find(own_key(role, facts.key)); found != values_.end()) {
        own.values_[std::string(facts.key)] = found->second;
      }
    }
  }
  return own;
}

}  // namespace kf
