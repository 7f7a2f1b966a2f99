// SPDX-License-Identifier: Apache-2.0
#include "settings.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>

#include "model/config.h"

namespace kf {
namespace {

using Kind = SettingFacts::Kind;

constexpr std::array kSettings{
    SettingFacts{Kind::kCount, "run.attempts", "--attempts", "16", "how many proposals to ask for"},
    SettingFacts{Kind::kTime, "run.wall", "--wall", "0",
                 "wall time after which nothing new is asked (90s, 15m, 2h); 0: none"},
    SettingFacts{Kind::kCount, "run.tokens", "--tokens", "0", "input and output tokens to spend; 0: no limit"},
    SettingFacts{Kind::kMoney, "run.cost", "--cost", "0", "dollars to spend, where prices are known; 0: no limit"},
    SettingFacts{Kind::kCount, "run.in_flight", "--in-flight", "4", "proposals under way at once"},
    SettingFacts{Kind::kCount, "run.screen_cases", "--screen-cases", "3",
                 "timed cases that every right candidate is timed on"},
    SettingFacts{Kind::kCount, "run.max_variants", "--max-variants", "16", "tune points tried of one candidate"},
    SettingFacts{Kind::kShare, "run.margin", "--margin", "0.005", "share by which a win must be faster"},
    SettingFacts{Kind::kCount, "run.compile_jobs", "--compile-jobs", "2", "compilations at once"},
    SettingFacts{Kind::kDevice, "device.kind", "--device", "auto", "auto, cuda, emulator or none"},
    SettingFacts{Kind::kText, "device.target", "--target", "",
                 "named target for emulator and none (H200, sm_90a); empty: the spec's"},
    SettingFacts{Kind::kCount, "device.gpu", "--gpu", "0", "which GPU, as the driver counts them"},
    SettingFacts{Kind::kText, "device.launcher", "--launcher", "",
                 "put in front of the worker: \"srun -N1\", \"ssh gpu-box\"", true},
    SettingFacts{Kind::kText, "toolkit.root", "--cuda-root", "", "CUDA toolkit folder; empty: searched", true},
    SettingFacts{Kind::kProvider, "model.provider", "--provider", "openai",
                 "openai, anthropic, replay, exchange or command"},
    SettingFacts{Kind::kText, "model.name", "--model", "", "model that answers"},
    SettingFacts{Kind::kText, "model.base_url", "--base-url", "", "endpoint; empty: the provider's own", true},
    SettingFacts{Kind::kText, "model.api_key_env", "--api-key-env", "",
                 "environment variable that holds the key; empty: the provider's usual one", true},
    SettingFacts{Kind::kText, "model.effort", "--effort", "", "reasoning effort to ask for; empty: not sent"},
    SettingFacts{Kind::kText, "model.command", "--command", "", "provider command: program and arguments, no shell",
                 true},
    SettingFacts{Kind::kText, "model.ca_file", "--ca-file", "", "certificates to trust instead of the system's", true},
    SettingFacts{Kind::kCount, "model.max_output_tokens", "--max-output-tokens", "16000",
                 "tokens that one answer may have"},
};

Error wrong(const std::string& where, std::string_view found, std::string_view allowed) {
  return {where, "found \"" + std::string(found) + "\", allowed: " + std::string(allowed), ""};
}

bool is_count(std::string_view text, std::int64_t& value) {
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  return error == std::errc{} && end == text.data() + text.size() && value >= 0;
}

bool is_share(std::string_view text, double& value) {
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  return error == std::errc{} && end == text.data() + text.size() && value >= 0 && value < 1;
}

std::optional<Error> check_value(const SettingFacts& facts, const std::string& text, const std::string& where) {
  std::int64_t count = 0;
  double share = 0;
  switch (facts.kind) {
    case Kind::kText:
      return std::nullopt;
    case Kind::kCount:
      return is_count(text, count) ? std::nullopt : std::optional(wrong(where, text, "a whole number from 0"));
    case Kind::kTime:
      return time_from_text(text) ? std::nullopt : std::optional(wrong(where, text, "a time such as 90s, 15m or 2h"));
    case Kind::kMoney:
      return nanodollars_from_text(text) ? std::nullopt : std::optional(wrong(where, text, "dollars such as 2.50"));
    case Kind::kShare:
      return is_share(text, share) ? std::nullopt : std::optional(wrong(where, text, "a number from 0 to below 1"));
    case Kind::kDevice:
      return text == "auto" || text == "cuda" || text == "emulator" || text == "none"
                 ? std::nullopt
                 : std::optional(wrong(where, text, "auto, cuda, emulator, none"));
    case Kind::kProvider:
      return provider_from_string(text)
                 ? std::nullopt
                 : std::optional(wrong(where, text, "openai, anthropic, replay, exchange, command"));
  }
  return std::nullopt;
}

}  // namespace

std::span<const SettingFacts> all_settings() {
  return kSettings;
}

std::string environment_name(const SettingFacts& facts) {
  std::string name = "KFACTORY_" + std::string(facts.key);
  std::ranges::transform(name, name.begin(),
                         [](char c) { return c == '.' ? '_' : static_cast<char>(c >= 'a' && c <= 'z' ? c - 32 : c); });
  return name;
}

OrErrors<Settings> Settings::resolve(const SettingLayers& layers) {
  Settings settings;
  Errors errors;
  for (const SettingFacts& facts : kSettings) {
    const std::string key(facts.key);
    Value value{std::string(facts.fallback), "built in"};
    const auto take = [&](const std::optional<SettingsFile>& file) {
      if (file) {
        if (const auto found = file->values.find(key); found != file->values.end()) {
          value = {found->second, file->path};
        }
      }
    };
    take(layers.user);
    const bool in_project = layers.project && layers.project->values.contains(key);
    if (in_project && facts.trusted_only && !layers.trust_project) {
      errors.push_back({layers.project->path + ": " + key,
                        "a project file may not set this: it decides where keys are sent or what is executed",
                        "move it to your own file, or pass --trust-project if you trust this folder"});
    } else {
      take(layers.project);
    }
    const std::string variable = environment_name(facts);
    if (const std::optional<std::string> set = layers.environment ? layers.environment(variable) : std::nullopt) {
      value = {*set, variable};
    }
    if (const auto flag = layers.flags.find(key); flag != layers.flags.end()) {
      value = {flag->second, "flag " + std::string(facts.flag)};
    }
    if (std::optional<Error> error = check_value(facts, value.text, value.origin + " (" + key + ")")) {
      errors.push_back(std::move(*error));
    }
    settings.values_[key] = std::move(value);
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
  std::int64_t value = 0;
  is_count(of(key).text, value);
  return value;
}

std::chrono::milliseconds Settings::time(std::string_view key) const {
  return time_from_text(of(key).text).value_or(std::chrono::milliseconds(0));
}

std::int64_t Settings::nanodollars(std::string_view key) const {
  return nanodollars_from_text(of(key).text).value_or(0);
}

double Settings::share(std::string_view key) const {
  double value = 0;
  is_share(of(key).text, value);
  return value;
}

OrError<std::chrono::milliseconds> time_from_text(std::string_view text) {
  constexpr std::array<std::pair<std::string_view, std::int64_t>, 6> kUnits{
      {{"ms", 1}, {"s", 1'000}, {"m", 60'000}, {"h", 3'600'000}, {"d", 86'400'000}, {"", 1'000}}};
  std::int64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  const std::string_view unit = text.substr(static_cast<std::size_t>(end - text.data()));
  const auto* known = std::ranges::find(kUnits, unit, &std::pair<std::string_view, std::int64_t>::first);
  if (error != std::errc{} || value < 0 || known == kUnits.end() || value > 1'000'000'000) {
    return std::unexpected(Error{"", "\"" + std::string(text) + "\" is not a time", "write 90s, 15m, 2h, 1d or 250ms"});
  }
  return std::chrono::milliseconds(value * known->second);
}

}  // namespace kf
