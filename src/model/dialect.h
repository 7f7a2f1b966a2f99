// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <kfactory/model.h>

#include "api_error.h"
#include "http.h"
#include "sse.h"

namespace kf {

// What a server turned out not to take: found once, remembered for the run.
struct Quirks {
  enum class OutputLimit : std::uint8_t {
    kMaxCompletionTokens,
    kMaxTokens
  } output_limit = OutputLimit::kMaxCompletionTokens;
  enum class SystemRole : std::uint8_t { kSystem, kDeveloper, kUser } system_role = SystemRole::kSystem;
  bool stream = true, stream_options = true, effort = true, temperature = true, top_p = true, cache_key = true;
  bool other_limit_refused = false, other_role_refused = false;  // both names, or roles, were refused
  bool operator==(const Quirks&) const = default;
};

struct WireRequest {
  std::string path;                 // after the base URL: "/chat/completions"
  std::vector<HttpHeader> headers;  // without the key
  std::string body;
};

// What one response has said so far.
struct Answer {
  std::string text, reasoning;
  std::optional<Finish> finish;
  std::string finish_raw, model, id;
  Usage usage;
  std::optional<ApiError> error;  // in the stream, after a 200
  std::string malformed;          // what could not be read, quoted; empty: nothing
  bool ended = false;             // the server said that this was all
};

// Reads one response. Never throws for what a server sends.
struct Interpreter {
  virtual ~Interpreter() = default;
  virtual void on_event(const SseEvent& event) = 0;
  virtual void on_document(std::string_view json) = 0;  // a response that is not a stream
  Answer answer;
};

// A wire format: pure.
struct Dialect {
  virtual ~Dialect() = default;
  virtual WireRequest request(const ModelCall& call, const Quirks& quirks) const = 0;
  virtual std::unique_ptr<Interpreter> interpreter() const = 0;
  // After a 400: what to try instead, and in words what was learnt. nullopt: nothing of ours is to blame.
  struct Repair {
    Quirks quirks;
    std::string lesson;
  };
  virtual std::optional<Repair> repair(const ApiError& error, const Quirks& quirks) const = 0;
};

std::unique_ptr<Dialect> openai_chat_dialect(const ModelConfig& config);
std::unique_ptr<Dialect> anthropic_messages_dialect(const ModelConfig& config);

}  // namespace kf
