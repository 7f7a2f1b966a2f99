// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <array>
#include <cmath>
#include <nlohmann/json.hpp>

#include "dialect.h"
#include "json_fields.h"

// OpenAI's Chat Completions, as OpenAI, Azure, vLLM, SGLang, llama.cpp, Ollama, OpenRouter and others speak it.
// The fewest fields are sent and none is null: some servers refuse fields that they do not know.

namespace kf {
namespace {

using Json = nlohmann::json;
using OutputLimit = Quirks::OutputLimit;
using SystemRole = Quirks::SystemRole;

std::string_view limit_name(OutputLimit limit) {
  return limit == OutputLimit::kMaxTokens ? "max_tokens" : "max_completion_tokens";
}

Finish finish_from(std::string_view reason) {
  constexpr std::array<std::pair<std::string_view, Finish>, 7> kReasons{
      {{"stop", Finish::kDone},
       {"length", Finish::kLength},
       {"content_filter", Finish::kFiltered},
       {"tool_calls", Finish::kTool},
       {"function_call", Finish::kTool},
       {"error", Finish::kError},
       {"model_context_window_exceeded", Finish::kContextFull}}};
  const auto* const found = std::ranges::find(kReasons, reason, [](const auto& pair) { return pair.first; });
  return found == kReasons.end() ? Finish::kUnknown : found->second;
}

// Content is a string; Mistral's is a list of parts of which some are thoughts.
void add_content(const Json& content, Answer& answer) {
  if (content.is_string()) {
    answer.text += content.get_ref<const std::string&>();
    return;
  }
  for (const Json& part : content.is_array() ? content : Json::array()) {
    if (text_field(part, "type") == "text") {
      answer.text += text_field(part, "text");
    } else {
      for (const Json& thought : field(part, "thinking").is_array() ? field(part, "thinking") : Json::array()) {
        answer.reasoning += text_field(thought, "text");
      }
    }
  }
}

void add_usage(const Json& usage, Answer& answer) {
  if (!usage.is_object()) {
    return;
  }
  Usage& total = answer.usage;
  total.input_tokens = count_field(usage, "prompt_tokens");
  total.output_tokens = count_field(usage, "completion_tokens");
  total.cached_tokens = count_field(field(usage, "prompt_tokens_details"), "cached_tokens");
  total.reasoning_tokens = count_field(field(usage, "completion_tokens_details"), "reasoning_tokens");
  if (const Json& cost = field(usage, "cost"); cost.is_number()) {  // OpenRouter: the real price, in dollars
    if (const double dollars = cost.get<double>(); dollars >= 0 && dollars < 1e6) {
      total.cost_nanodollars = std::llround(dollars * 1e9);
    }
  }
  total.raw_json = write_json(usage);
}

class ChatInterpreter : public Interpreter {
 public:
  void on_event(const SseEvent& event) override {
    if (answer.ended || answer.error || !answer.malformed.empty()) {
      return;
    }
    if (event.name == "error") {
      answer.error = read_api_error(200, event.data);
    } else {
      on_data(event.data);
    }
  }

  void on_document(std::string_view text) override {
    const Json document = read_json(text);
    if (!document.is_object()) {
      answer.malformed = std::string(text).substr(0, 4096);
      return;
    }
    read(document, "message");
    answer.ended = true;
  }

 private:
  void on_data(std::string_view data) {
    const std::size_t last = data.find_last_not_of(" \t\r\n");
    if (last == std::string_view::npos) {
      return;
    }
    data = data.substr(0, last + 1);
    if (data == "[DONE]") {
      answer.ended = true;
      return;
    }
    if (const Json chunk = read_json(data); chunk.is_object()) {
      read(chunk, "delta");
      return;
    }
    const std::vector<std::string_view> parts = split_glued(data);
    if (parts.size() < 2) {
      answer.malformed = std::string(data).substr(0, 4096);
    }
    for (std::size_t i = 0; i < parts.size() && parts.size() > 1; ++i) {
      on_data(parts[i]);
    }
  }

  void read(const Json& chunk, std::string_view content_name) {
    const Json& error = field(chunk, "error");
    const bool empty = error.is_null() || ((error.is_string() || error.is_object()) && error.empty());
    if (!empty || text_field(chunk, "object") == "error") {
      answer.error = read_api_error(200, write_json(chunk));
      return;
    }
    if (std::string model = text_field(chunk, "model"); !model.empty()) {
      answer.model = std::move(model);
    }
    if (std::string id = text_field(chunk, "id"); answer.id.empty()) {
      answer.id = std::move(id);
    }
    add_usage(field(chunk, "usage"), answer);
    const Json& choices = field(chunk, "choices");  // [] in the usage chunk and in Azure's first one
    if (choices.is_array() && !choices.empty()) {
      read_choice(choices.front(), content_name);
    }
  }

  void read_choice(const Json& choice, std::string_view content_name) {
    const Json& delta = field(choice, content_name);
    add_content(field(delta, "content"), answer);
    if (const std::string refusal = text_field(delta, "refusal"); !refusal.empty()) {
      answer.text += refusal;
      refused_ = true;
    }
    // One of the two names; servers that send both repeat the same text.
    const std::string reasoning = text_field(delta, "reasoning_content");
    answer.reasoning += reasoning.empty() ? text_field(delta, "reasoning") : reasoning;

    const std::string reason = text_field(choice, "finish_reason");
    if (reason.empty()) {  // SGLang's chunks have ""
      return;
    }
    answer.finish_raw = reason;
    answer.finish = refused_ ? Finish::kRefused : finish_from(reason);
    if (answer.finish == Finish::kError) {
      answer.error = ApiError{.status = 200, .message = "the server ended its answer with finish_reason \"error\""};
    }
  }

  bool refused_ = false;
};

class ChatDialect : public Dialect {
 public:
  explicit ChatDialect(const ModelConfig& config) : config_(config) {}

  WireRequest request(const ModelCall& call, const Quirks& quirks) const override {
    Json body{{"model", config_.model}, {"messages", messages(call, quirks.system_role)}};
    body[limit_name(quirks.output_limit)] = call.max_output_tokens;
    if (config_.stream && quirks.stream) {
      body["stream"] = true;
      if (quirks.stream_options) {
        body["stream_options"] = {{"include_usage", true}};
      }
    }
    if (!config_.effort.empty() && quirks.effort) {
      body["reasoning_effort"] = config_.effort;
    }
    if (config_.temperature && quirks.temperature) {
      body["temperature"] = *config_.temperature;
    }
    if (config_.top_p && quirks.top_p) {
      body["top_p"] = *config_.top_p;
    }
    if (!config_.prompt_cache_key.empty() && quirks.cache_key) {
      body["prompt_cache_key"] = config_.prompt_cache_key;
    }
    return {"/chat/completions", {}, write_json(body)};
  }

  std::unique_ptr<Interpreter> interpreter() const override { return std::make_unique<ChatInterpreter>(); }

  std::optional<Repair> repair(const ApiError& error, const Quirks& quirks) const override;

 private:
  // One user message: templates of open models want roles to alternate. The prefix comes first, so that the
  // server can cache it.
  static Json messages(const ModelCall& call, SystemRole role) {
    const std::string gap = call.prefix.empty() || call.prompt.empty() ? "" : "\n\n";
    const std::string user = call.prefix + gap + call.prompt;
    if (call.system.empty()) {
      return Json::array({{{"role", "user"}, {"content", user}}});
    }
    if (role == SystemRole::kUser) {
      return Json::array({{{"role", "user"}, {"content", call.system + "\n\n" + user}}});
    }
    return Json::array({{{"role", role == SystemRole::kDeveloper ? "developer" : "system"}, {"content", call.system}},
                        {{"role", "user"}, {"content", user}}});
  }

  const ModelConfig config_;
};

// Whether the error is about the field's name and not about its value.
bool names(const ApiError& error, std::string_view parameter) {
  if (error.param == parameter || error.param.starts_with(std::string(parameter) + '.')) {
    return true;
  }
  const std::size_t at = error.param.empty() ? error.message.find(parameter) : std::string::npos;
  if (at == std::string::npos) {
    return false;
  }
  const auto word = [&](std::size_t i) {
    return i < error.message.size() &&
           (std::isalnum(static_cast<unsigned char>(error.message[i])) != 0 || error.message[i] == '_');
  };
  return (at == 0 || !word(at - 1)) && !word(at + parameter.size());
}

bool about_value(const ApiError& error) {
  constexpr std::array<std::string_view, 6> kWords{"too large",    "at most",   "less than",
                                                   "greater than", "above max", "below min"};
  return std::ranges::any_of(kWords,
                             [&](std::string_view word) { return error.message.find(word) != std::string::npos; });
}

bool about_role(const ApiError& error) {
  const auto has = [&](std::string_view word) { return error.message.find(word) != std::string::npos; };
  const bool role = has("role") || has("Role") || error.param.find("role") != std::string::npos;
  return role && (has("system") || has("System") || has("developer"));
}

std::optional<Dialect::Repair> ChatDialect::repair(const ApiError& error, const Quirks& quirks) const {
  if (error.status != 400 && error.status != 422) {
    return std::nullopt;
  }
  Quirks next = quirks;
  const auto dropped = [&](bool& sends, std::string_view name) {
    sends = false;
    return Repair{next, "the server does not take " + std::string(name) + "; it is no longer sent"};
  };
  if (const std::string_view sent = limit_name(quirks.output_limit); names(error, sent) && !about_value(error)) {
    if (quirks.other_limit_refused) {
      return std::nullopt;
    }
    next.other_limit_refused = true;
    next.output_limit =
        quirks.output_limit == OutputLimit::kMaxTokens ? OutputLimit::kMaxCompletionTokens : OutputLimit::kMaxTokens;
    return Repair{next, "the server does not take " + std::string(sent) + "; " +
                            std::string(limit_name(next.output_limit)) + " is sent instead"};
  }
  if (about_role(error) && quirks.system_role != SystemRole::kUser) {
    next.system_role = quirks.system_role == SystemRole::kSystem ? SystemRole::kDeveloper : SystemRole::kUser;
    return Repair{next, next.system_role == SystemRole::kDeveloper
                            ? "the server does not take the role system; developer is sent instead"
                            : "the server takes neither system nor developer; instructions go into the user message"};
  }
  if (quirks.stream && quirks.stream_options && config_.stream &&
      (names(error, "stream_options") || names(error, "include_usage"))) {
    return dropped(next.stream_options, "stream_options");
  }
  if (quirks.stream && config_.stream && names(error, "stream")) {
    return dropped(next.stream, "stream");
  }
  if (quirks.effort && !config_.effort.empty() && names(error, "reasoning_effort")) {
    return dropped(next.effort, "reasoning_effort");
  }
  if (quirks.temperature && config_.temperature && names(error, "temperature")) {
    return dropped(next.temperature, "temperature");
  }
  if (quirks.top_p && config_.top_p && names(error, "top_p")) {
    return dropped(next.top_p, "top_p");
  }
  if (quirks.cache_key && !config_.prompt_cache_key.empty() && names(error, "prompt_cache_key")) {
    return dropped(next.cache_key, "prompt_cache_key");
  }
  return std::nullopt;
}

}  // namespace

std::unique_ptr<Dialect> openai_chat_dialect(const ModelConfig& config) {
  return std::make_unique<ChatDialect>(config);
}

}  // namespace kf
