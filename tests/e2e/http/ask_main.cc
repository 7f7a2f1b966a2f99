// SPDX-License-Identifier: Apache-2.0
#include <cstdlib>
#include <iostream>
#include <nlohmann/json.hpp>

#include "model/config.h"
#include "os/steady_clock.h"

// Asks a model one question through the public entry points and prints what came of it as JSON:
//
//   kf_ask openai|anthropic BASE_URL MODEL [EFFORT]
//
// KF_ASK_CA_FILE stands for the setting model.ca_file.
// For tests that compare us with other clients.

int main(int count, char** arguments) {
  if (count < 4) {
    std::cerr << "kf_ask openai|anthropic BASE_URL MODEL [EFFORT]\n";
    return 2;
  }
  kf::ModelConfig config{.provider = kf::provider_from_string(arguments[1]).value_or(kf::Provider::kOpenai),
                         .model = arguments[3],
                         .base_url = arguments[2],
                         .effort = count > 4 ? arguments[4] : ""};
  if (const char* file = std::getenv("KF_ASK_CA_FILE")) {
    config.ca_file = file;
  }
  config.retry.max_retries = 0;
  config.timeouts.idle = std::chrono::seconds(5);
  kf::SteadyClock clock;
  kf::Endpoints endpoints;
  const auto model = kf::make_model(config, clock, endpoints);
  if (!model) {
    std::cerr << kf::to_string(model.error()) << '\n';
    return 2;
  }
  const kf::ModelCall call{.ordinal = 1,
                           .system = "You write kernels.",
                           .prefix = "The task: \xC2\xB5.",
                           .prompt = "Write one.",
                           .max_output_tokens = 500};
  const auto reply = (*model)->ask(call, {});
  const kf::Usage& usage = reply ? reply->usage : reply.error().spent;
  nlohmann::json json{{"usage", nlohmann::json::object()}};
  const auto put = [&](const char* name, const std::optional<std::int64_t>& value) {
    json["usage"][name] = value ? nlohmann::json(*value) : nlohmann::json();
  };
  put("input_tokens", usage.input_tokens);
  put("cached_tokens", usage.cached_tokens);
  put("output_tokens", usage.output_tokens);
  put("reasoning_tokens", usage.reasoning_tokens);
  if (reply) {
    json["text"] = reply->text;
    json["reasoning"] = reply->reasoning;
    json["finish"] = kf::to_string(reply->finish);
    json["finish_raw"] = reply->finish_raw;
  } else {
    json["error"] = kf::to_string(reply.error().kind);
    json["message"] = reply.error().message;
  }
  std::cout << json.dump() << '\n';
  return 0;
}
