// SPDX-License-Identifier: Apache-2.0
#include "api_error.h"

#include <algorithm>
#include <array>
#include <cctype>
#include <nlohmann/json.hpp>

#include "json_fields.h"

namespace kf {
namespace {

constexpr std::size_t kLongestMessage = 16u << 10;  // what people see is cut later, after keys are taken out
using Json = nlohmann::json;
using Kind = ModelError::Kind;

std::string lower(std::string_view text) {
  std::string result(text);
  std::ranges::transform(result, result.begin(), [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
  return result;
}

bool contains_any(std::string_view text, std::initializer_list<std::string_view> words) {
  return std::ranges::any_of(words, [&](std::string_view word) { return text.find(word) != std::string_view::npos; });
}

std::string without_tags(std::string_view html) {
  const std::string small = lower(html);
  std::string text;
  for (std::size_t at = 0; at < html.size();) {
    if (html[at] != '<') {
      text += html[at++];
      continue;
    }
    std::size_t end = html.find('>', at);
    for (const std::string_view block : {"style", "script"}) {
      if (small.compare(at + 1, block.size(), block) == 0) {
        const std::size_t close = small.find("</" + std::string(block), at);
        end = close == std::string::npos ? close : html.find('>', close);
      }
    }
    if (end == std::string_view::npos) {
      break;
    }
    text += ' ';
    at = end + 1;
  }
  return text;
}

// FastAPI: [{"type": "extra_forbidden", "loc": ["body", "stream_options"], "msg": "..."}]
void read_detail(const Json& detail, ApiError& error) {
  if (detail.is_string()) {
    error.message = detail.get<std::string>();
    return;
  }
  for (const Json& entry : detail) {
    error.message += (error.message.empty() ? "" : "; ") + text_field(entry, "msg");
    if (error.type.empty()) {
      error.type = text_field(entry, "type");
    }
    const Json& location = field(entry, "loc");
    if (error.param.empty() && location.is_array() && !location.empty() && location.back().is_string()) {
      error.param = location.back().get<std::string>();
    }
  }
}

void read_object(const Json& object, ApiError& error) {
  error.message = text_field(object, "message");
  error.type = text_field(object, "type");
  error.code = text_field(object, "code");
  error.param = text_field(object, "param");
  if (const std::string status = text_field(object, "status"); error.type.empty() && !status.empty()) {
    error.type = status;  // Gemini: "RESOURCE_EXHAUSTED"
  }
  if (const std::string code = text_field(field(object, "details"), "error_code"); !code.empty()) {
    error.code = code;  // Anthropic
  }
}

bool is_http_status(std::string_view code) {
  return code.size() == 3 && code[0] >= '4' && code[0] <= '5' &&
         std::isdigit(static_cast<unsigned char>(code[1])) != 0 &&
         std::isdigit(static_cast<unsigned char>(code[2])) != 0;
}

bool is_quota(const ApiError& error, std::string_view text) {
  constexpr std::array<std::string_view, 10> kCodes{"insufficient_quota",
                                                    "credit_balance_exhausted",
                                                    "organization_spend_limit_exceeded",
                                                    "project_spend_limit_exceeded",
                                                    "organization_usage_limit_exceeded",
                                                    "enforced_spend_limit_reached",
                                                    "contract_spend_limit_reached",
                                                    "billing_hard_limit_reached",
                                                    "billing_not_active",
                                                    "billing_error"};
  return error.status == 402 || std::ranges::find(kCodes, error.code) != kCodes.end() ||
         std::ranges::find(kCodes, error.type) != kCodes.end() ||
         contains_any(text, {"exceeded your current quota", "credit balance is too low", "insufficient credit"});
}

bool is_context_full(const ApiError& error, std::string_view text) {
  return error.status == 413 ||
         contains_any(lower(error.code + ' ' + error.type),
                      {"context_length_exceeded", "exceed_context_size", "model_context_window_exceeded"}) ||
         contains_any(text, {"maximum context length", "context window", "context size", "context length",
                             "prompt is too long", "input is too long"});
}

}  // namespace

std::string one_line(std::string_view text, std::size_t most_bytes) {
  std::string result;
  for (const char c : text) {
    const bool space = static_cast<unsigned char>(c) <= 0x20 || c == 0x7F;
    if (!space) {
      result += c;
    } else if (!result.empty() && result.back() != ' ') {
      result += ' ';
    }
    if (result.size() > most_bytes) {
      std::size_t end = most_bytes;
      while (end > 0 && (static_cast<unsigned char>(result[end]) & 0xC0) == 0x80) {
        --end;
      }
      return result.substr(0, end) + "...";
    }
  }
  while (!result.empty() && result.back() == ' ') {
    result.pop_back();
  }
  return result;
}

ApiError read_api_error(int status, std::string_view body) {
  ApiError error{.status = status};
  Json document = read_json(body);
  if (document.is_array() && !document.empty()) {
    document = Json(document.front());  // Gemini's streams wrap it
  }
  if (const Json& inner = field(document, "error"); inner.is_object()) {
    read_object(inner, error);
  } else if (inner.is_string()) {
    error.message = inner.get<std::string>();
  } else if (const Json& detail = field(document, "detail"); detail.is_array() || detail.is_string()) {
    read_detail(detail, error);
  } else if (document.is_object()) {
    read_object(document, error);
  }
  if (error.message.empty()) {
    const std::size_t first = body.find_first_not_of(" \t\r\n");
    error.message = first != std::string_view::npos && body[first] == '<' ? without_tags(body) : std::string(body);
  }
  error.message = one_line(error.message, kLongestMessage);
  if (status == 200 && is_http_status(error.code)) {
    error.status = std::stoi(error.code);  // OpenRouter and llama.cpp put it into the stream
  }
  return error;
}

Judgement judge(const ApiError& error, const HttpHead* head) {
  const std::string text = lower(error.message);
  const std::string names = lower(error.code + ' ' + error.type);
  if (is_quota(error, text)) {
    return {Kind::kQuota, false, false};
  }
  if (is_context_full(error, text)) {
    return {Kind::kContextFull, false, true};
  }
  Judgement result{Kind::kServer, true, true};
  const int status = error.status;
  if (status == 401 || status == 403 ||
      contains_any(names, {"authentication_error", "invalid_api_key", "permission_error"})) {
    result = {Kind::kAuthentication, false, false};
  } else if (status == 429 || contains_any(names, {"rate_limit", "resource_exhausted"})) {
    result = {Kind::kRateLimit, true, true};
  } else if (status == 408) {
    result = {Kind::kTimeout, true, true};
  } else if (status == 404 || (status >= 300 && status < 400)) {
    result = {Kind::kBadRequest, false, false};
  } else if (status >= 400 && status < 500 && status != 409) {
    result = {Kind::kBadRequest, false,
              !contains_any(names, {"unsupported_", "unknown_parameter", "extra_forbidden", "model_not_found"})};
  } else if (contains_any(names, {"invalid_request", "unsupported_", "not_found_error"})) {
    result = {Kind::kBadRequest, false, true};  // in a stream, without a status
  }
  const auto wish = head != nullptr ? head->find("x-should-retry") : std::nullopt;
  if (wish == "true" || wish == "false") {
    result.retry = *wish == "true";
  }
  return result;
}

std::string describe(const ApiError& error, Kind kind) {
  std::string text =
      error.status != 0 && error.status != 200 ? "HTTP " + std::to_string(error.status) : "error in the stream";
  if (const std::string& name = error.code.empty() || is_http_status(error.code) ? error.type : error.code;
      !name.empty()) {
    text += " (" + one_line(name, 80) + ")";
  }
  if (!error.message.empty()) {
    text += ": " + error.message;
  }
  switch (kind) {
    case Kind::kQuota:
      return text + " - the account has no quota left; add credit or raise the limit";
    case Kind::kAuthentication:
      return text + " - check the key that api_key_env names, and its permissions";
    case Kind::kContextFull:
      return text + " - the prompt is longer than the model takes";
    default:
      return text;
  }
}

}  // namespace kf
