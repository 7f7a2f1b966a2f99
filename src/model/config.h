// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <kfactory/clock.h>
#include <kfactory/error.h>
#include <kfactory/model.h>

// Which model answers, as plain values, and the one function that turns them into a Model.

namespace kf {

enum class Provider : std::uint8_t { kOpenai, kAnthropic, kReplay, kExchange, kCommand };
std::string_view to_string(Provider provider);  // "openai"
std::optional<Provider> provider_from_string(std::string_view name);

// Nanodollars for a million tokens: 1.25 dollars a million = 1'250'000'000.
struct Price {
  std::string model;  // exact name, or a prefix that ends in '*'
  std::int64_t input = 0, output = 0;
  std::optional<std::int64_t> cached_input;  // nullopt: as input
};

// One more request header. `value_env` names an environment variable whose content is treated as a secret.
struct ExtraHeader {
  std::string name, value, value_env;
};

struct ModelTimeouts {
  std::chrono::milliseconds connect{30'000};
  std::chrono::milliseconds idle{600'000};     // no byte for this long; reasoning models are silent for minutes
  std::chrono::milliseconds total{3'600'000};  // of one try
};

struct RetrySettings {
  int max_retries = 6;  // after the first try; the self-repair of a 400 is not counted; after a time-out at most 2
  std::chrono::milliseconds first_delay{500}, longest_delay{8'000};  // doubling, when the server names no time
  std::chrono::milliseconds visible_pause{300'000};  // a longer wait is told through ModelHooks::notice first
  std::chrono::milliseconds give_up{3'600'000};      // a server that asks for more ends the call with kRateLimit
};

struct ModelConfig {
  Provider provider = Provider::kOpenai;
  std::string model;           // openai, anthropic
  std::string base_url;        // empty: the provider's own; openai's includes "/v1"
  std::string api_key_env;     // empty: OPENAI_API_KEY or ANTHROPIC_API_KEY
  std::string api_key_header;  // empty: "Authorization: Bearer"; Azure's is "api-key"
  std::string anthropic_version = "2026-10-21";
  std::string effort;                        // empty: not sent
  std::optional<double> temperature, top_p;  // not sent unless set
  std::string prompt_cache_key;              // openai; empty: not sent
  bool cache_prefix = true;                  // anthropic: cache_control on the prefix
  bool stream = true;
  bool key_over_plain_http = false;  // allows a key to a non-loopback http:// address
  std::vector<ExtraHeader> extra_headers;
  std::string ca_file;  // empty: CURL_CA_BUNDLE, SSL_CERT_FILE, then libcurl's own
  ModelTimeouts timeouts;
  RetrySettings retry;
  std::vector<Price> prices;  // first match; none: the cost is unknown

  std::string transcript;            // replay: the file
  bool strict_replay = false;        // a reply to another request is an error, not a note
  std::string exchange_folder;       // exchange
  bool exchange_wait = true;         // false: kWaiting where no reply lies ready
  std::vector<std::string> command;  // command: argv, no shell; timeouts.total is its deadline
};

// Every mistake that can be seen without network, files or keys; `where` is the field's name.
Errors validate(const ModelConfig& config);

// Is this how variables are called: capitals, digits and '_'? Else it may be a key that was put in the wrong place, and
// is not quoted.
bool names_a_variable(std::string_view text);

// "1.25" (dollars) as nanodollars, exactly; up to nine decimals.
OrError<std::int64_t> nanodollars_from_text(std::string_view dollars);

// Called from any thread that asks, one at a time for each model.
struct ModelHooks {
  std::function<void(const std::string& text)> notice;  // repairs, long waits, suspected truncation; no key in it
  // Asked before every try with what the tries before it have used; false ends the call with kBudget.
  std::function<bool(const Usage& so_far)> may_spend;
};

using Environment = std::function<std::optional<std::string>(const std::string& name)>;
Environment process_environment();

// What the models of one run share: connections, and one limiter an endpoint, so that a 429 seen by one
// agent slows all. Models keep what they need of it, so it may go before them.
class Endpoints {
 public:
  Endpoints();
  ~Endpoints();
  Endpoints(const Endpoints&) = delete;
  Endpoints& operator=(const Endpoints&) = delete;

 private:
  friend OrErrors<std::unique_ptr<Model>> make_model(const ModelConfig&, Clock&, Endpoints&, ModelHooks,
                                                     const Environment&);
  struct State;
  std::unique_ptr<State> state_;
};

// Reads the key and the transcript, opens libcurl when first needed; sends nothing. `clock` outlives the model.
OrErrors<std::unique_ptr<Model>> make_model(const ModelConfig& config, Clock& clock, Endpoints& endpoints,
                                            ModelHooks hooks = {},
                                            const Environment& environment = process_environment());

// Asks the endpoint for its list of models (GET .../models), for `kfactory doctor`. The text says what answered.
OrError<std::string> probe_endpoint(const ModelConfig& config, Clock& clock,
                                    const Environment& environment = process_environment());

}  // namespace kf
