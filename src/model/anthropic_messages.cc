// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <array>
#include <nlohmann/json.hpp>

#include "dialect.h"
#include "json_fields.h"

// Anthropic's Messages. Since version 2026-10-21 any sampling parameter is refused, even at its default.

namespace kf {
namespace {

using Json = nlohmann::json;

Finish finish_from(std::string_view reason) {
  constexpr std::array<std::pair<std::string_view, Finish>, 6> kReasons{
      {{"end_turn", Finish::kDone},
       {"stop_sequence", Finish::kDone},
       {"max_tokens", Finish::kLength},
       {"tool_use", Finish::kTool},
       {"refusal", Finish::kRefused},
       {"model_context_window_exceeded", Finish::kContextFull}}};
  const auto* const found = std::ranges::find(kReasons, reason, [](const auto& pair) { return pair.first; });
  return found == kReasons.end() ? Finish::kUnknown : found->second;  // pause_turn, and what is yet to come
}

class MessagesInterpreter : public Interpreter {
 public:
  void on_event(const SseEvent& event) override {
    if (answer.ended || answer.error || !answer.malformed.empty()) {
      return;
    }
    const Json data = read_json(event.data);
    if (!data.is_object()) {
      answer.malformed = std::string(event.data).substr(0, 4096);
      return;
    }
    const std::string type = text_field(data, "type");
    if (type == "error" || event.name == "error" || field(data, "error").is_object()) {
      answer.error = read_api_error(200, event.data);
      if (answer.error->status == 200) {
        answer.error->status = status_of(answer.error->type);
      }
    } else if (type == "message_start") {
      read_message(field(data, "message"));
    } else if (type == "content_block_start") {
      add_block(field(data, "content_block"));
    } else if (type == "content_block_delta") {
      answer.text += text_field(field(data, "delta"), "text");
      answer.reasoning += text_field(field(data, "delta"), "thinking");
    } else if (type == "message_delta") {
      add_usage(field(data, "usage"));
      read_stop(field(data, "delta"));
    } else if (type == "message_stop") {
      answer.ended = true;
    }  // ping, content_block_stop and types that are yet to come say nothing
  }

  void on_document(std::string_view text) override {
    const Json document = read_json(text);
    if (!document.is_object()) {
      answer.malformed = std::string(text).substr(0, 4096);
      return;
    }
    if (field(document, "error").is_object()) {
      answer.error = read_api_error(200, text);
      return;
    }
    read_message(document);
    read_stop(document);
    answer.ended = true;
  }

 private:
  static int status_of(std::string_view type) {
    return type == "overloaded_error" ? 529 : type == "rate_limit_error" ? 429 : type == "api_error" ? 500 : 200;
  }

  void read_message(const Json& message) {
    answer.model = text_field(message, "model");
    answer.id = text_field(message, "id");
    add_usage(field(message, "usage"));
    for (const Json& block : field(message, "content").is_array() ? field(message, "content") : Json::array()) {
      add_block(block);
    }
  }

  void add_block(const Json& block) {
    answer.text += text_field(block, "text");
    answer.reasoning += text_field(block, "thinking");
  }

  void read_stop(const Json& holder) {
    const std::string reason = text_field(holder, "stop_reason");
    if (reason.empty()) {
      return;
    }
    answer.finish = finish_from(reason);
    answer.finish_raw = reason;
    if (const std::string category = text_field(field(holder, "stop_details"), "category"); !category.empty()) {
      answer.finish_raw += " (" + category + ")";
    }
  }

  // Counts are cumulative, and a later event may repeat only some of them.
  void add_usage(const Json& usage) {
    if (!usage.is_object()) {
      return;
    }
    raw_.update(usage);
    Usage& total = answer.usage;
    const auto input = count_field(raw_, "input_tokens");
    total.cached_tokens = count_field(raw_, "cache_read_input_tokens");
    if (input) {  // excludes both kinds of cached tokens
      total.input_tokens =
          *input + total.cached_tokens.value_or(0) + count_field(raw_, "cache_creation_input_tokens").value_or(0);
    }
    total.output_tokens = count_field(raw_, "output_tokens");
    total.reasoning_tokens = count_field(field(raw_, "output_tokens_details"), "thinking_tokens");
    total.raw_json = write_json(raw_);
  }

  Json raw_ = Json::object();
};

class MessagesDialect : public Dialect {
 public:
  explicit MessagesDialect(const ModelConfig& config) : config_(config) {}

  WireRequest request(const ModelCall& call, const Quirks& quirks) const override {
    Json body{
        {"model", config_.model}, {"max_tokens", call.max_output_tokens}, {"messages", Json::array({message(call)})}};
    if (!call.system.empty()) {
      body["system"] = call.system;
    }
    if (config_.stream) {
      body["stream"] = true;
    }
    if (!config_.effort.empty() && quirks.effort) {
      body["output_config"] = {{"effort", config_.effort}};
    }
    if (config_.temperature && quirks.temperature) {
      body["temperature"] = *config_.temperature;
    }
    if (config_.top_p && quirks.top_p) {
      body["top_p"] = *config_.top_p;
    }
    return {"/v1/messages", {{"anthropic-version", config_.anthropic_version, {}}}, write_json(body)};
  }

  std::unique_ptr<Interpreter> interpreter() const override { return std::make_unique<MessagesInterpreter>(); }

  std::optional<Repair> repair(const ApiError& error, const Quirks& quirks) const override {
    const auto has = [&](std::string_view word) { return error.message.find(word) != std::string::npos; };
    Quirks next = quirks;
    const auto dropped = [&](bool& sends, std::string_view name) {
      sends = false;
      return Repair{next, "the server does not take " + std::string(name) + "; it is no longer sent"};
    };
    if (error.status != 400) {
      return std::nullopt;
    }
    if (config_.temperature && quirks.temperature && has("temperature")) {
      return dropped(next.temperature, "temperature");
    }
    if (config_.top_p && quirks.top_p && has("top_p")) {
      return dropped(next.top_p, "top_p");
    }
    if (!config_.effort.empty() && quirks.effort && (has("effort") || has("output_config"))) {
      return dropped(next.effort, "output_config.effort");
    }
    return std::nullopt;
  }

 private:
  Json message(const ModelCall& call) const {
    Json content = Json::array();
    if (!call.prefix.empty()) {
      content.push_back({{"type", "text"}, {"text", call.prefix}});
      if (config_.cache_prefix) {
        content.back()["cache_control"] = {{"type", "ephemeral"}};
      }
    }
    if (!call.prompt.empty()) {  // empty text blocks are refused
      content.push_back({{"type", "text"}, {"text", call.prompt}});
    }
    return {{"role", "user"}, {"content", std::move(content)}};
  }

  const ModelConfig config_;
};

}  // namespace

std::unique_ptr<Dialect> anthropic_messages_dialect(const ModelConfig& config) {
  return std::make_unique<MessagesDialect>(config);
}

}  // namespace kf
