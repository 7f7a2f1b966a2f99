// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <map>
#include <mutex>
#include <random>

#include "command_model.h"
#include "curl_http.h"
#include "exchange_model.h"
#include "http_model.h"
#include "os/entropy.h"
#include "transcript.h"

namespace kf {

struct Endpoints::State {
  std::mutex mutex;
  std::map<std::string, std::shared_ptr<Http>> transports;   // by CA file
  std::map<std::string, std::shared_ptr<Limiter>> limiters;  // by base URL
};

Endpoints::Endpoints() : state_(std::make_unique<State>()) {}
Endpoints::~Endpoints() = default;

namespace {

std::string base_url_of(const ModelConfig& config) {
  const std::string own =
      config.provider == Provider::kAnthropic ? "https://api.anthropic.com" : "https://api.openai.com/v1";
  std::string url = config.base_url.empty() ? own : config.base_url;
  while (url.ends_with('/')) {
    url.pop_back();
  }
  // Users give Anthropic's address with and without the version that the path holds already.
  if (config.provider == Provider::kAnthropic && url.ends_with("/v1")) {
    url.erase(url.size() - 3);
  }
  return url;
}

bool is_loopback(std::string_view url) {
  const std::string_view rest = url.substr(url.find("://") + 3);
  const std::string_view host =
      rest.starts_with('[') ? rest.substr(0, rest.find(']') + 1) : rest.substr(0, rest.find_first_of(":/?"));
  return host == "localhost" || host == "[::1]" || host.starts_with("127.");
}

bool is_sendable(std::string_view value) {
  return std::ranges::all_of(value, [](unsigned char c) { return c > 0x20 && c < 0x7F; });
}

// The key, and the user's own headers. A loopback server needs no key.
OrErrors<std::vector<HttpHeader>> headers_of(const ModelConfig& config, const std::string& url,
                                             const Environment& environment) {
  std::vector<HttpHeader> headers;
  Errors errors;
  const bool own_name = config.api_key_env.empty();
  const std::string variable = !own_name                                 ? config.api_key_env
                               : config.provider == Provider::kAnthropic ? "ANTHROPIC_API_KEY"
                                                                         : "OPENAI_API_KEY";
  const std::string key = environment(variable).value_or("");
  const bool plain = url.starts_with("http://") && !is_loopback(url) && !config.key_over_plain_http;
  if (!is_sendable(key)) {
    errors.push_back({variable, "the key in it holds a space, a newline or another character that no key has",
                      "set it again, without quotes or newline"});
  } else if (!key.empty() && plain) {
    errors.push_back({"base_url",
                      "a key would travel over http:// to another machine, where anybody on the way can read it",
                      "use https://, unset " + variable + ", or set key_over_plain_http"});
  } else if (!key.empty()) {
    const bool bearer = config.api_key_header.empty();
    headers.push_back({bearer ? "Authorization" : config.api_key_header, bearer ? "Bearer " : "", Secret(key)});
  } else if (!own_name || config.base_url.empty()) {
    const std::string shown = names_a_variable(variable) ? variable : "that it names (perhaps a key: not shown)";
    errors.push_back({"api_key_env", "the variable " + shown + " is not set",
                      "export that variable with the key in it, or name another one"});
  }
  for (const ExtraHeader& header : config.extra_headers) {
    if (header.value_env.empty()) {
      headers.push_back({header.name, header.value, {}});
      continue;
    }
    const std::string value = environment(header.value_env).value_or("");
    if (value.empty() || !is_sendable(value)) {
      errors.push_back({"extra_headers",
                        "the variable " + header.value_env + " for the header " + header.name +
                            " is not set, or holds a space or control character",
                        ""});
    } else if (plain) {
      errors.push_back({"base_url",
                        "the secret header " + header.name + " would travel over http:// to another machine",
                        "use https:// or set key_over_plain_http"});
    }
    headers.push_back({header.name, "", Secret(value)});
  }
  if (!errors.empty()) {
    return std::unexpected(std::move(errors));
  }
  return headers;
}

std::string ca_file_of(const ModelConfig& config,
                       const Environment& environment) {  // libcurl itself reads neither variable
  if (!config.ca_file.empty()) {
    return config.ca_file;
  }
  const std::string curl = environment("CURL_CA_BUNDLE").value_or("");
  return curl.empty() ? environment("SSL_CERT_FILE").value_or("") : curl;
}

std::function<double()> jitter_source() {
  std::uint64_t seed = 0;
  fill_with_entropy(std::as_writable_bytes(std::span(&seed, 1)));
  return [engine = std::mt19937_64(seed)]() mutable { return std::uniform_real_distribution<double>(0, 1)(engine); };
}

}  // namespace

OrErrors<std::unique_ptr<Model>> make_model(const ModelConfig& config, Clock& clock, Endpoints& endpoints,
                                            ModelHooks hooks, const Environment& environment) {
  if (Errors errors = validate(config); !errors.empty()) {
    return std::unexpected(std::move(errors));
  }
  switch (config.provider) {
    case Provider::kReplay: {
      auto transcript = read_transcript(config.transcript);
      if (!transcript) {
        return std::unexpected(std::move(transcript.error()));
      }
      return replay_model(std::move(*transcript), config.strict_replay);
    }
    case Provider::kExchange:
      return exchange_model({.folder = config.exchange_folder, .wait = config.exchange_wait}, clock);
    case Provider::kCommand:
      return command_model(config.command, config.timeouts.total, clock);
    default:
      break;
  }
  HttpModelParts parts{.config = config,
                       .base_url = base_url_of(config),
                       .dialect = nullptr,
                       .http = nullptr,
                       .limiter = nullptr,
                       .clock = &clock,
                       .hooks = std::move(hooks),
                       .headers = {},
                       .draw = jitter_source()};
  auto headers = headers_of(config, parts.base_url, environment);
  if (!headers) {
    return std::unexpected(std::move(headers.error()));
  }
  parts.headers = std::move(*headers);
  parts.dialect =
      config.provider == Provider::kAnthropic ? anthropic_messages_dialect(config) : openai_chat_dialect(config);
  const std::string ca_file = ca_file_of(config, environment);
  const std::lock_guard lock(endpoints.state_->mutex);
  std::shared_ptr<Http>& http = endpoints.state_->transports[ca_file];
  http = http ? http : std::shared_ptr<Http>(curl_http(clock, ca_file));
  std::shared_ptr<Limiter>& limiter = endpoints.state_->limiters[parts.base_url];
  limiter = limiter ? limiter : std::make_shared<Limiter>();
  parts.http = http;
  parts.limiter = limiter;
  return std::make_unique<HttpModel>(std::move(parts));
}

namespace {

struct BodyKeeper : HttpReceiver {
  HttpHead head;
  std::string body;
  void on_head(const HttpHead& answer) override { head = answer; }
  Wanted on_bytes(std::string_view bytes) override {
    body += bytes;
    return Wanted::kMore;
  }
};

}  // namespace

OrError<std::string> probe_endpoint(const ModelConfig& config, Clock& clock, const Environment& environment) {
  if (config.provider != Provider::kOpenai && config.provider != Provider::kAnthropic) {
    return std::string(to_string(config.provider)) + " needs no network";
  }
  if (const Errors errors = validate(config); !errors.empty()) {
    return std::unexpected(errors.front());
  }
  const std::string base_url = base_url_of(config);
  auto headers = headers_of(config, base_url, environment);
  if (!headers) {
    return std::unexpected(headers.error().front());
  }
  Redactor redactor;
  for (const HttpHeader& header : *headers) {
    redactor.add(header.secret);
  }
  const bool anthropic = config.provider == Provider::kAnthropic;
  HttpRequest request{.method = "GET",
                      .url = endpoint_url(base_url, anthropic ? "/v1/models" : "/models"),
                      .headers = std::move(*headers)};
  if (anthropic) {
    request.headers.push_back({"anthropic-version", config.anthropic_version, {}});
  }
  using std::chrono::seconds;
  request.timeouts = {.connect = seconds(5), .idle = seconds(10), .total = seconds(20)};
  BodyKeeper answer;
  const auto fault = curl_http(clock, ca_file_of(config, environment))->send(request, answer, {});
  const std::string where = request.url.substr(0, request.url.find('?'));
  if (fault) {
    return std::unexpected(
        Error{where, one_line(redactor.clean(fault->message)), "is the server running, and is base_url right?"});
  }
  const int status = answer.head.status;
  if (status >= 200 && status < 300) {
    const bool listed = answer.body.find('"' + config.model + '"') != std::string::npos;
    return where + " answers; it " + (listed ? "lists " : "does not list ") + config.model;
  }
  const ApiError error = read_api_error(status, redactor.clean(answer.body));
  return std::unexpected(Error{where, one_line(describe(error, judge(error, &answer.head).kind)), ""});
}

}  // namespace kf
