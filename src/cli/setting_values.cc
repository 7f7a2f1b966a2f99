// SPDX-License-Identifier: Apache-2.0
#include "setting_values.h"

#include <algorithm>
#include <array>
#include <charconv>

#include "words.h"

namespace kf {
namespace {

using Kind = SettingFacts::Kind;

Error not_allowed(std::string_view found, std::string_view allowed) {
  return {"", "found \"" + std::string(found) + "\", allowed: " + std::string(allowed), ""};
}

template <class T>
std::optional<T> whole(std::string_view text) {
  T value{};
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  return error == std::errc{} && end == text.data() + text.size() ? std::optional(value) : std::nullopt;
}

std::string_view trimmed(std::string_view text) {
  const std::size_t first = text.find_first_not_of(" \t\r");
  return first == std::string_view::npos ? "" : text.substr(first, text.find_last_not_of(" \t\r") + 1 - first);
}

std::vector<std::string_view> items_of(std::string_view text, std::string_view separators) {
  std::vector<std::string_view> items;
  while (!text.empty()) {
    const std::size_t end = std::min(text.find_first_of(separators), text.size());
    if (const std::string_view item = trimmed(text.substr(0, end)); !item.empty()) {
      items.push_back(item);
    }
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  return items;
}

OrError<Price> price_from_text(std::string_view item) {
  const Error wrong = not_allowed(item, "MODEL INPUT OUTPUT [CACHED], in dollars a million tokens: \"gpt-5* 1.25 10\"");
  const OrError<std::vector<std::string>> words = words_of(item);
  if (!words || words->size() < 3 || words->size() > 4) {
    return std::unexpected(wrong);
  }
  std::array<std::int64_t, 3> dollars{};
  for (std::size_t i = 1; i < words->size(); ++i) {
    const OrError<std::int64_t> value = nanodollars_from_text(words->at(i));
    if (!value) {
      return std::unexpected(wrong);
    }
    dollars.at(i - 1) = *value;
  }
  Price price{words->front(), dollars[0], dollars[1], std::nullopt};
  if (words->size() == 4) {
    price.cached_input = dollars[2];
  }
  return price;
}

template <class T>
std::optional<Error> error_of(const OrError<T>& value) {
  return value ? std::nullopt : std::optional(value.error());
}

std::optional<Error> unless(bool good, std::string_view found, std::string_view allowed) {
  return good ? std::nullopt : std::optional(not_allowed(found, allowed));
}

std::optional<Error> error_in(Kind kind, const std::string& text) {
  switch (kind) {
    case Kind::kText:
      return std::nullopt;
    case Kind::kCount:
      return unless(whole<std::int64_t>(text).value_or(-1) >= 0, text, "a whole number from 0");
    case Kind::kTime:
      return unless(time_from_text(text).has_value(), text, "a time such as 90s, 15m or 2h");
    case Kind::kMoney:
      return unless(nanodollars_from_text(text).has_value(), text, "dollars such as 2.50");
    case Kind::kShare: {
      const double share = whole<double>(text).value_or(-1);
      return unless(share >= 0 && share < 1, text, "a number from 0 to below 1");
    }
    case Kind::kDevice:
      return unless(text == "auto" || text == "cuda" || text == "emulator" || text == "none", text,
                    "auto, cuda, emulator, none");
    case Kind::kProvider:
      return unless(provider_from_string(text).has_value(), text, "openai, anthropic, replay, exchange, command");
    case Kind::kYesNo:
      return error_of(yes_or_no_from_text(text));
    case Kind::kNumber:
      return error_of(number_from_text(text));
    case Kind::kWords:
      return error_of(words_of(text));
    case Kind::kPrices:
      return error_of(prices_from_text(text));
    case Kind::kHeaders:
      return error_of(headers_from_text(text));
  }
  return std::nullopt;
}

}  // namespace

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

OrError<bool> yes_or_no_from_text(std::string_view text) {
  if (text != "true" && text != "false") {
    return std::unexpected(not_allowed(text, "true, false"));
  }
  return text == "true";
}

OrError<std::optional<double>> number_from_text(std::string_view text) {
  if (text.empty()) {
    return std::nullopt;
  }
  if (const std::optional<double> value = whole<double>(text)) {
    return value;
  }
  return std::unexpected(not_allowed(text, "a number such as 0.7, or nothing at all"));
}

OrError<std::vector<Price>> prices_from_text(std::string_view text) {
  std::vector<Price> prices;
  for (const std::string_view item : items_of(text, "\n;")) {
    OrError<Price> price = price_from_text(item);
    if (!price) {
      return std::unexpected(price.error());
    }
    prices.push_back(std::move(*price));
  }
  return prices;
}

OrError<std::vector<ExtraHeader>> headers_from_text(std::string_view text) {
  std::vector<ExtraHeader> headers;
  for (const std::string_view item : items_of(text, "\n")) {
    const std::size_t end = item.find_first_of(":=");
    if (end == std::string_view::npos || end == 0) {  // perhaps a secret: not quoted
      return std::unexpected(Error{"",
                                   "a header is written \"name: value\", or \"name=VARIABLE\" for the value of an "
                                   "environment variable; header " +
                                       std::to_string(headers.size() + 1) + " is neither",
                                   ""});
    }
    ExtraHeader header{std::string(trimmed(item.substr(0, end))), "", ""};
    (item[end] == ':' ? header.value : header.value_env) = trimmed(item.substr(end + 1));
    headers.push_back(std::move(header));
  }
  return headers;
}

std::optional<Error> value_error(const SettingFacts& facts, const std::string& text, const std::string& where) {
  std::optional<Error> error = error_in(facts.kind, text);
  if (error) {
    error->where = where;
  }
  return error;
}

std::string shown_value(std::string_view key, std::string value) {
  constexpr std::string_view kHidden = "(not shown)";
  if (key.ends_with(".api_key_env")) {
    return value.empty() || names_a_variable(value) || std::getenv(value.c_str()) != nullptr
               ? value
               : std::string(kHidden) + " no such variable: is it a key?";
  }
  if (key.ends_with(".base_url")) {
    const std::size_t host = value.find("://") == std::string::npos ? 0 : value.find("://") + 3;
    const std::size_t query = std::min(value.find('?'), value.size());
    const std::size_t user = value.substr(0, query).find('@', host);
    return value.substr(0, host) +
           (user == std::string::npos ? value.substr(host, query - host)
                                      : std::string(kHidden) + value.substr(user, query - user)) +
           (query < value.size() ? "?" + std::string(kHidden) : "");
  }
  if (key.ends_with(".extra_headers")) {
    std::string names;
    for (const ExtraHeader& header : headers_from_text(value).value_or(std::vector<ExtraHeader>())) {
      names += (names.empty() ? "" : "; ") + header.name +
               (header.value_env.empty() ? ": " + std::string(kHidden) : "=" + header.value_env);
    }
    return names;
  }
  return value;
}

}  // namespace kf
