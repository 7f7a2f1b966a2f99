// SPDX-License-Identifier: Apache-2.0
#include "models.h"

#include <algorithm>
#include <filesystem>

#include "model/transcript.h"
#include "parts.h"
#include "setting_values.h"
#include "words.h"

namespace kf {
namespace {

// Where answers come from files: the flags decide, whatever the settings say.
void take_files(const Options& options, ModelConfig& config) {
  if (!options.replay.empty() && !options.exchange.empty()) {
    throw UsageError{{{"--replay, --exchange", "answers come from one of them, not from both", ""}}};
  }
  if (!options.replay.empty()) {
    config.provider = Provider::kReplay;
    config.transcript = options.replay;
  } else if (!options.exchange.empty()) {
    config.provider = Provider::kExchange;
    config.exchange_folder = options.exchange;
    config.exchange_wait = !options.no_wait;
  }
}

void take_endpoint(const Settings& settings, ModelConfig& config) {
  config.model = settings.text("model.name");
  config.base_url = settings.text("model.base_url");
  config.api_key_env = settings.text("model.api_key_env");
  config.api_key_header = settings.text("model.api_key_header");
  config.extra_headers = headers_from_text(settings.text("model.extra_headers")).value_or(std::vector<ExtraHeader>());
  config.key_over_plain_http = settings.yes("model.key_over_plain_http");
  config.ca_file = settings.text("model.ca_file");
  config.command = words_of(settings.text("model.command")).value_or(std::vector<std::string>());
  config.strict_replay = settings.yes("model.strict_replay");
}

void take_request(const Settings& settings, ModelConfig& config) {
  config.anthropic_version = settings.text("model.anthropic_version");
  config.effort = settings.text("model.effort");
  config.temperature = settings.number("model.temperature");
  config.top_p = settings.number("model.top_p");
  config.prompt_cache_key = settings.text("model.prompt_cache_key");
  config.cache_prefix = settings.yes("model.cache_prefix");
  config.stream = settings.yes("model.stream");
  config.timeouts.connect = settings.time("model.connect_timeout");
  config.timeouts.idle = settings.time("model.idle_timeout");
  config.timeouts.total = settings.time("model.total_timeout");
  config.retry.max_retries = static_cast<int>(std::min<std::int64_t>(settings.count("model.max_retries"), 1'000));
  config.retry.give_up = settings.time("model.give_up");
  config.prices = prices_from_text(settings.text("model.prices")).value_or(std::vector<Price>());
}

// validate() names fields of ModelConfig; a person knows settings and flags.
Errors in_words_of_settings(Errors errors) {
  for (Error& error : errors) {
    const std::string key = "model." + (error.where == "model" ? "name" : error.where.substr(0, error.where.find('[')));
    if (const SettingFacts* facts = setting_of(key)) {
      error.where = (facts->flag.empty() ? "" : std::string(facts->flag) + ", ") + key;
    }
  }
  return errors;
}

}  // namespace

ModelConfig model_config(const Options& options, const Settings& settings) {
  ModelConfig config;
  config.provider = provider_from_string(settings.text("model.provider")).value_or(Provider::kOpenai);
  take_endpoint(settings, config);
  take_request(settings, config);
  take_files(options, config);
  if (Errors errors = validate(config); !errors.empty()) {
    throw UsageError{in_words_of_settings(std::move(errors))};
  }
  return config;
}

Map<ModelConfig> model_configs(const Options& options, const Settings& settings) {
  Map<ModelConfig> configs{{"", model_config(options, settings)}};
  if (options.replay.empty() && options.exchange.empty()) {
    for (const std::string& role : settings.roles()) {
      configs.emplace(role, model_config(options, settings.for_role(role)));
    }
  }
  return configs;
}

std::vector<std::string> secret_variables(const Settings& settings) {
  std::vector<std::string> names{"OPENAI_API_KEY", "ANTHROPIC_API_KEY"};
  const auto add = [&names](const Settings& of) {
    std::vector<std::string> more{of.text("model.api_key_env")};
    for (const ExtraHeader& header :
         headers_from_text(of.text("model.extra_headers")).value_or(std::vector<ExtraHeader>())) {
      more.push_back(header.value_env);
    }
    std::ranges::copy_if(more, std::back_inserter(names), [&names](const std::string& name) {
      return !name.empty() && std::ranges::find(names, name) == names.end();
    });
  };
  add(settings);
  for (const std::string& role : settings.roles()) {
    add(settings.for_role(role));
  }
  return names;
}

std::int64_t recorded_proposals(const std::string& transcript) {
  const Transcript read = or_usage(read_transcript(transcript));
  return std::ranges::count_if(read.entries, [](const auto& entry) {
    const auto& [role, ordinal] = entry.first;
    constexpr std::uint64_t kFirstReask = 10'000;
    return (role == Role::kWriter || role == Role::kRepairer) && ordinal < kFirstReask;
  });
}

Map<std::unique_ptr<Model>> open_models(const Options& options, const Map<ModelConfig>& configs, Clock& clock,
                                        Endpoints& endpoints, const ModelHooks& hooks) {
  std::shared_ptr<TranscriptWriter> record;
  if (!options.record.empty()) {
    record = or_usage(TranscriptWriter::open(options.record, clock));
  }
  Map<std::unique_ptr<Model>> models;
  for (const auto& [role, config] : configs) {
    if (config.provider == Provider::kExchange) {
      std::error_code error;
      std::filesystem::create_directories(config.exchange_folder, error);
    }
    std::unique_ptr<Model> model = or_usage(make_model(config, clock, endpoints, hooks));
    models.emplace(role, record ? recorded(std::move(model), record) : std::move(model));
  }
  return models;
}

}  // namespace kf
