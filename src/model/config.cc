// SPDX-License-Identifier: Apache-2.0
#include "config.h"

#include <algorithm>
#include <array>
#include <cctype>
#include <cstdlib>
#include <limits>

namespace kf {
namespace {

constexpr std::array<std::string_view, 5> kProviders{"openai", "anthropic", "replay", "exchange", "command"};

bool is_name(std::string_view text) {  // of an environment variable
  return !text.empty() && std::isdigit(static_cast<unsigned char>(text[0])) == 0 &&
         std::ranges::all_of(text, [](unsigned char c) { return std::isalnum(c) != 0 || c == '_'; });
}

bool is_header_name(std::string_view text) {
  return !text.empty() &&
         std::ranges::all_of(text, [](unsigned char c) { return std::isalnum(c) != 0 || c == '-' || c == '_'; });
}

}  // namespace

bool names_a_variable(std::string_view text) {
  return !text.empty() && std::ranges::all_of(text, [](unsigned char c) {
    return std::isupper(c) != 0 || std::isdigit(c) != 0 || c == '_';
  });
}

namespace {

bool is_printable(std::string_view text) {
  return std::ranges::all_of(text, [](unsigned char c) { return c >= 0x20 && c < 0x7F; });
}

void check_url(const std::string& url, Errors& errors) {
  if (url.empty()) {
    return;
  }
  const std::size_t scheme = url.find("://");
  if (!url.starts_with("http://") && !url.starts_with("https://")) {
    errors.push_back({"base_url", "found \"" + url + "\", which begins neither with http:// nor with https://",
                      "for example http://127.0.0.1:8080/v1"});
    return;
  }
  const std::string_view host =
      std::string_view(url).substr(scheme + 3, url.find_first_of("/?#", scheme + 3) - scheme - 3);
  if (host.find('@') != std::string_view::npos) {  // not quoted: it holds a password
    errors.push_back({"base_url", "it holds a user name or password before '@'",
                      "name the variable that holds the key in api_key_env"});
  } else if (host.empty() || !is_printable(url) || url.find_first_of(" #") != std::string::npos) {
    errors.push_back(
        {"base_url", "found \"" + url + "\", which has no host, or a space, '#' or control character in it", ""});
  }
}

void check_http(const ModelConfig& config, Errors& errors) {
  if (config.model.empty()) {
    errors.push_back(
        {"model", "it is empty",
         "name a model that the endpoint serves; without one, --replay FILE or --exchange FOLDER answers"});
  }
  check_url(config.base_url, errors);
  if (!config.api_key_env.empty() && !is_name(config.api_key_env)) {  // perhaps the key itself: not quoted
    errors.push_back({"api_key_env", "this is not the name of an environment variable (letters, digits and '_')",
                      "put the key into a variable and give its name here"});
  }
  if (!config.api_key_header.empty() && !is_header_name(config.api_key_header)) {
    errors.push_back({"api_key_header", "found \"" + config.api_key_header + "\", which is not a header name",
                      "for example api-key"});
  }
  for (std::size_t i = 0; i < config.extra_headers.size(); ++i) {
    const ExtraHeader& header = config.extra_headers[i];
    const std::string where = "extra_headers[" + std::to_string(i) + "]";
    if (!is_header_name(header.name)) {
      errors.push_back({where + ".name", "found \"" + header.name + "\", which is not a header name", ""});
    }
    if (!is_printable(header.value) ||
        (!header.value_env.empty() && (!header.value.empty() || !is_name(header.value_env)))) {
      errors.push_back({where, "it needs either a printable `value` or the name of a variable in `value_env`", ""});
    }
  }
  if (config.effort.find_first_not_of("abcdefghijklmnopqrstuvwxyz") != std::string::npos) {
    errors.push_back(
        {"effort", "found \"" + config.effort + "\"", "one word in lower case, such as low, medium or high"});
  }
  if (config.temperature && !(*config.temperature >= 0 && *config.temperature <= 2)) {
    errors.push_back({"temperature", "found " + std::to_string(*config.temperature) + "; 0 to 2 is allowed", ""});
  }
  if (config.top_p && !(*config.top_p >= 0 && *config.top_p <= 1)) {
    errors.push_back({"top_p", "found " + std::to_string(*config.top_p) + "; 0 to 1 is allowed", ""});
  }
}

void check_times(const ModelConfig& config, Errors& errors) {
  const auto check = [&](const char* where, std::chrono::milliseconds time) {
    if (time.count() <= 0) {
      errors.push_back({where, "found " + std::to_string(time.count()) + " ms; it must be more than 0", ""});
    }
  };
  check("timeouts.connect", config.timeouts.connect);
  check("timeouts.idle", config.timeouts.idle);
  check("timeouts.total", config.timeouts.total);
  check("retry.first_delay", config.retry.first_delay);
  check("retry.longest_delay", config.retry.longest_delay);
  if (config.retry.max_retries < 0 || config.retry.max_retries > 100) {
    errors.push_back(
        {"retry.max_retries", "found " + std::to_string(config.retry.max_retries) + "; 0 to 100 is allowed", ""});
  }
  for (const Price& price : config.prices) {
    if (price.model.empty() || price.input < 0 || price.output < 0 || price.cached_input.value_or(0) < 0) {
      errors.push_back({"prices", "the price of \"" + price.model + "\" has no model name or is negative", ""});
    }
  }
}

}  // namespace

std::string_view to_string(Provider provider) {
  return kProviders.at(static_cast<std::size_t>(provider));
}

std::optional<Provider> provider_from_string(std::string_view name) {
  const auto* const found = std::ranges::find(kProviders, name);
  return found == kProviders.end() ? std::nullopt : std::optional(static_cast<Provider>(found - kProviders.begin()));
}

Errors validate(const ModelConfig& config) {
  Errors errors;
  check_times(config, errors);
  const auto need = [&](const char* where, bool empty, const char* hint) {
    if (empty) {
      errors.push_back(
          {where, "the provider " + std::string(to_string(config.provider)) + " needs it, and it is empty", hint});
    }
  };
  switch (config.provider) {
    case Provider::kOpenai:
    case Provider::kAnthropic:
      check_http(config, errors);
      break;
    case Provider::kReplay:
      need("transcript", config.transcript.empty(), "name a recorded transcript (--replay FILE)");
      break;
    case Provider::kExchange:
      need("exchange_folder", config.exchange_folder.empty(),
           "name a folder for requests and replies (--exchange DIR)");
      break;
    case Provider::kCommand:
      need("command", config.command.empty() || config.command.front().empty(), "a program and its arguments");
      break;
  }
  return errors;
}

OrError<std::int64_t> nanodollars_from_text(std::string_view dollars) {
  const auto refuse = [&] {
    return std::unexpected(
        Error{"", "found \"" + std::string(dollars) + "\"; a price in dollars is needed, with up to nine decimals",
              "for example 1.25"});
  };
  const std::size_t point = std::min(dollars.find('.'), dollars.size());
  std::string digits(dollars.substr(0, point));
  const std::string_view decimals = dollars.substr(std::min(point + 1, dollars.size()));
  if (decimals.size() > 9 || digits.empty() || digits.size() > 9 || (point < dollars.size() && decimals.empty())) {
    return refuse();
  }
  digits.append(decimals).append(9 - decimals.size(), '0');
  std::int64_t value = 0;
  for (const char c : digits) {
    if (c < '0' || c > '9') {
      return refuse();
    }
    value = value * 10 + (c - '0');  // at most 18 digits
  }
  return value;
}

Environment process_environment() {
  return [](const std::string& name) -> std::optional<std::string> {
    const char* const value = std::getenv(name.c_str());
    return value != nullptr ? std::optional<std::string>(value) : std::nullopt;
  };
}

}  // namespace kf
