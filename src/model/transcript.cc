// SPDX-License-Identifier: Apache-2.0
#include "transcript.h"

#include <algorithm>
#include <nlohmann/json.hpp>

#include "json_fields.h"
#include "os/atomic_file.h"

namespace kf {
namespace {

using Json = nlohmann::json;
using OrderedJson = nlohmann::ordered_json;

constexpr std::uint64_t kLargestTranscript = std::uint64_t{1} << 30;

template <class Enum>
std::optional<Enum> enum_from(std::string_view name, Enum last) {
  for (int i = 0; i <= static_cast<int>(last); ++i) {
    if (to_string(static_cast<Enum>(i)) == name) {
      return static_cast<Enum>(i);
    }
  }
  return std::nullopt;
}

OrderedJson usage_json(const Usage& usage) {
  OrderedJson json = OrderedJson::object();
  const auto put = [&](const char* name, const std::optional<std::int64_t>& count) {
    if (count) {
      json[name] = *count;
    }
  };
  put("input_tokens", usage.input_tokens);
  put("cached_tokens", usage.cached_tokens);
  put("output_tokens", usage.output_tokens);
  put("reasoning_tokens", usage.reasoning_tokens);
  put("cost_nanodollars", usage.cost_nanodollars);
  json["estimated_input_tokens"] = usage.estimated_input_tokens;
  json["estimated_output_tokens"] = usage.estimated_output_tokens;
  if (usage.retried_tokens != 0) {
    json["retried_tokens"] = usage.retried_tokens;
  }
  if (!usage.raw_json.empty()) {
    json["raw"] = usage.raw_json;
  }
  return json;
}

Usage usage_from(const Json& json) {
  Usage usage;
  usage.input_tokens = count_field(json, "input_tokens");
  usage.cached_tokens = count_field(json, "cached_tokens");
  usage.output_tokens = count_field(json, "output_tokens");
  usage.reasoning_tokens = count_field(json, "reasoning_tokens");
  usage.cost_nanodollars = count_field(json, "cost_nanodollars");
  usage.estimated_input_tokens = count_field(json, "estimated_input_tokens").value_or(0);
  usage.estimated_output_tokens = count_field(json, "estimated_output_tokens").value_or(0);
  usage.retried_tokens = count_field(json, "retried_tokens").value_or(0);
  usage.raw_json = text_field(json, "raw");
  return usage;
}

// What is wrong with the line, or nothing.
std::string read_entry(const Json& json, TranscriptEntry& entry) {
  if (!json.is_object()) {
    return "not a JSON object";
  }
  const auto role = role_from_string(text_field(json, "role"));
  if (!role) {
    return "role: found \"" + text_field(json, "role") +
           "\"; planner, writer, repairer, reviewer and librarian are allowed";
  }
  const auto ordinal = count_field(json, "ordinal");
  if (!ordinal || *ordinal < 1) {
    return "ordinal: found " + field(json, "ordinal").dump() + "; a whole number from 1 is needed";
  }
  entry.role = *role;
  entry.ordinal = static_cast<std::uint64_t>(*ordinal);
  if (const Json& hash = field(json, "request_sha256"); !hash.is_null()) {
    const auto digest = digest_from_hex(text_field(json, "request_sha256"));
    if (!digest) {
      return "request_sha256: " + digest.error().what;
    }
    entry.request = *digest;
  }
  if (const Json& error = field(json, "error"); error.is_object()) {
    const auto kind = enum_from(text_field(error, "kind"), ModelError::Kind::kBudget);
    if (!kind) {
      return "error.kind: found \"" + text_field(error, "kind") +
             "\", which is none of the kinds of docs/formats/transcript.md";
    }
    const Json& go_on = field(error, "run_can_go_on");
    entry.outcome = ModelError{*kind, text_field(error, "message"), !go_on.is_boolean() || go_on.get<bool>(),
                               usage_from(field(json, "usage"))};
    return "";
  }
  if (!field(json, "text").is_string()) {
    return "text: a string is needed (or an object `error`)";
  }
  Reply reply;
  reply.text = text_field(json, "text");
  reply.reasoning = text_field(json, "reasoning");
  reply.finish_raw = text_field(json, "finish_raw");
  if (const std::string finish = text_field(json, "finish"); !finish.empty()) {
    const auto value = enum_from(finish, Finish::kUnknown);
    if (!value) {
      return "finish: found \"" + finish + "\", which is none of the words of docs/formats/transcript.md";
    }
    reply.finish = *value;
  }
  reply.usage = usage_from(field(json, "usage"));
  reply.model = text_field(json, "model");
  reply.request_id = text_field(json, "request_id");
  reply.latency = std::chrono::milliseconds(count_field(json, "latency_ms").value_or(0));
  reply.tries = static_cast<int>(std::clamp<std::int64_t>(count_field(json, "tries").value_or(1), 1, 1'000));
  entry.outcome = std::move(reply);
  return "";
}

}  // namespace

std::string transcript_line(const TranscriptEntry& entry, const ModelCall* call, std::string_view utc) {
  OrderedJson json{{"role", to_string(entry.role)}, {"ordinal", entry.ordinal}};
  if (entry.request) {
    json["request_sha256"] = to_hex(*entry.request);
  }
  if (const auto* const error = std::get_if<ModelError>(&entry.outcome)) {
    json["error"] = {
        {"kind", to_string(error->kind)}, {"message", error->message}, {"run_can_go_on", error->run_can_go_on}};
    json["usage"] = usage_json(error->spent);
  } else {
    const Reply& reply = std::get<Reply>(entry.outcome);
    json["text"] = reply.text;
    json["reasoning"] = reply.reasoning;
    json["finish"] = to_string(reply.finish);
    json["finish_raw"] = reply.finish_raw;
    json["usage"] = usage_json(reply.usage);
    json["model"] = reply.model;
    json["request_id"] = reply.request_id;
    json["latency_ms"] = reply.latency.count();
    json["tries"] = reply.tries;
  }
  json["utc"] = utc;
  if (call != nullptr) {
    json["request"] = {{"system", call->system},
                       {"prefix", call->prefix},
                       {"prompt", call->prompt},
                       {"max_output_tokens", call->max_output_tokens}};
  }
  return json.dump(-1, ' ', false, Json::error_handler_t::replace);
}

OrErrors<Transcript> parse_transcript(std::string_view text, const std::string& path) {
  Transcript transcript{.path = path, .entries = {}};
  Errors errors;
  for (std::size_t number = 1; !text.empty(); ++number) {
    const std::size_t end = text.find('\n');
    const std::string_view line = text.substr(0, end);
    text.remove_prefix(end == std::string_view::npos ? text.size() : end + 1);
    if (line.find_first_not_of(" \t\r") == std::string_view::npos) {
      continue;
    }
    TranscriptEntry entry;
    const Json json = read_json(line);
    if (json.is_discarded() && end == std::string_view::npos) {
      transcript.torn = true;
    } else if (const std::string wrong = read_entry(json, entry); !wrong.empty()) {
      errors.push_back({path + ":" + std::to_string(number), wrong, "docs/formats/transcript.md describes the lines"});
    } else {
      transcript.entries.insert_or_assign(TranscriptKey{entry.role, entry.ordinal}, std::move(entry));
    }
  }
  if (!errors.empty()) {
    return std::unexpected(std::move(errors));
  }
  return transcript;
}

OrErrors<Transcript> read_transcript(const std::string& path) {
  const OrError<std::string> text = read_file(path, kLargestTranscript);
  if (!text) {
    return std::unexpected(Errors{text.error()});
  }
  return parse_transcript(*text, path);
}

}  // namespace kf
