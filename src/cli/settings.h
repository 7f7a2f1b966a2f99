// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <chrono>
#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include <kfactory/error.h>
#include <kfactory/values.h>

namespace kf {

// One thing that a user can set: by flag, KFACTORY_* variable, project file, user file; else built in.
struct SettingFacts {
  enum class Kind : std::uint8_t { kText, kCount, kTime, kMoney, kShare, kDevice, kProvider } kind = Kind::kText;
  std::string_view key;   // "model.base_url": [model] base_url in a file, KFACTORY_MODEL_BASE_URL in the environment
  std::string_view flag;  // "--base-url"
  std::string_view fallback;  // built-in value
  std::string_view help;
  bool trusted_only = false;  // a project file may not set it: it says where keys go or what gets executed
};
std::span<const SettingFacts> all_settings();
std::string environment_name(const SettingFacts& facts);  // "KFACTORY_MODEL_BASE_URL"

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
  // "flag --wall", "KFACTORY_RUN_WALL", "kfactory.toml", "built in".
  const std::string& origin(std::string_view key) const;

 private:
  struct Value {
    std::string text, origin;
  };
  const Value& of(std::string_view key) const;
  Map<Value> values_;
};

// "90", "90s", "15m", "2h", "1d", "250ms"; a plain number is seconds.
OrError<std::chrono::milliseconds> time_from_text(std::string_view text);

}  // namespace kf
