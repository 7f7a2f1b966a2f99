// SPDX-License-Identifier: Apache-2.0
#include "models.h"

#include <algorithm>
#include <filesystem>
#include <sstream>

#include "model/transcript.h"
#include "parts.h"

namespace kf {

ModelConfig model_config(const Options& options, const Settings& settings) {
  ModelConfig config;
  config.provider = provider_from_string(settings.text("model.provider")).value_or(Provider::kOpenai);
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
  config.model = settings.text("model.name");
  config.base_url = settings.text("model.base_url");
  config.api_key_env = settings.text("model.api_key_env");
  config.effort = settings.text("model.effort");
  config.ca_file = settings.text("model.ca_file");
  std::istringstream words(settings.text("model.command"));
  for (std::string word; words >> word;) {
    config.command.push_back(word);
  }
  if (Errors errors = validate(config); !errors.empty()) {
    throw UsageError{std::move(errors)};
  }
  return config;
}

std::int64_t recorded_proposals(const std::string& transcript) {
  const Transcript read = or_usage(read_transcript(transcript));
  return std::ranges::count_if(read.entries, [](const auto& entry) {
    const auto& [role, ordinal] = entry.first;
    constexpr std::uint64_t kFirstReask = 10'000;
    return (role == Role::kWriter || role == Role::kRepairer) && ordinal < kFirstReask;
  });
}

std::unique_ptr<Model> open_model(const Options& options, const ModelConfig& config, Clock& clock, Endpoints& endpoints,
                                  ModelHooks hooks) {
  if (config.provider == Provider::kExchange) {
    std::error_code error;
    std::filesystem::create_directories(config.exchange_folder, error);
  }
  std::unique_ptr<Model> model = or_usage(make_model(config, clock, endpoints, std::move(hooks)));
  if (!options.record.empty()) {
    model = recorded(std::move(model), or_usage(TranscriptWriter::open(options.record, clock)));
  }
  return model;
}

}  // namespace kf
