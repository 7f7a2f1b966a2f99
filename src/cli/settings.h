// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <chrono>
#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include <kfactory/error.h>
#include <kfactory/values.h>

namespace kf {

// One thing that a user can set: by flag, KFACTORY_* variable, project file, user file; else built in.
struct SettingFacts {
  // The texts of each kind: setting_values.h, words.h.
  enum class Kind : std::uint8_t {
    kText,
    kCount,
    kTime,
    kMoney,
    kShare,
    kDevice,
    kProvider,
    kYesNo,
    kNumber,
    kWords,
    kPrices,
    kHeaders,
  } kind = Kind::kText;
  std::string_view key;   // "model.base_url": [model] base_url in a file, KFACTORY_MODEL_BASE_URL in the environment
  std::string_view flag;  // "--base-url"; empty: no flag
  std::string_view fallback;  // built-in value
  std::string_view help;
  bool trusted_only = false;  // a project file may not set it: it says where keys go or what gets executed
};
std::span<const SettingFacts> all_settings();
std::string environment_name(std::string_view key);  // "KFACTORY_MODEL_BASE_URL"

// Roles that may have a model of their own: the table [model.writer] sets "model.writer.name" for "model.name".
std::span<const std::string_view> roles_with_models();
// Facts of a key in a settings file or of a role's own key; nullptr: there is no such setting.
const SettingFacts* setting_of(std::string_view key);
// "writer" of "model.writer.name"; empty: the key is nobody's own.
std::string_view role_of_key(std::string_view key);

// A settings file as far as it is there: values by key, as text.
struct SettingsFile {
  std::string path;
  Map<std::string> values;
};
// nullopt: there is no such file. Errors (not TOML, unknown key) carry path:line.
OrErrors<std::optional<SettingsFile>> read_settings_file(const std::string& path);

struct SettingLayers {
  Map<std::string> flags;  // by key
  std::function<std::optional<std::string>(const std::string& name)> environment;
  std::optional<SettingsFile> project, user;
  bool trust_project = false;
};

// Every setting with a value of its kind, and where it comes from.
class Settings {
 public:
  // Refuses values of the wrong kind and, unless trusted, a project file that sets what it may not.
  static OrErrors<Settings> resolve(const SettingLayers& layers);

  const std::string& text(std::string_view key) const;
  std::int64_t count(std::string_view key) const;
  std::chrono::milliseconds time(std::string_view key) const;
  std::int64_t nanodollars(std::string_view key) const;
  double share(std::string_view key) const;
  bool yes(std::string_view key) const;
  std::optional<double> number(std::string_view key) const;
  // "flag --wall", "KFACTORY_RUN_WALL", "kfactory.toml", "built in".
  const std::string& origin(std::string_view key) const;

  // Roles with settings of their own, and the settings as such a role has them. A role that names its own provider or
  // base_url inherits nothing that says where requests and keys go: no key reaches an endpoint it was not meant for.
  std::vector<std::string> roles() const;
  Settings for_role(std::string_view role) const;
  // Keys of roles that were set: "model.writer.name".
  std::vector<std::string> role_keys() const;

 private:
  struct Value {
    std::string text, origin;
  };
  const Value& of(std::string_view key) const;
  Map<Value> values_;
};

}  // namespace kf
