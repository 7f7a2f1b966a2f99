// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <chrono>
#include <cstdint>
#include <expected>
#include <optional>
#include <stop_token>
#include <string>
#include <string_view>
#include <vector>

namespace kf {

enum class Role : std::uint8_t { kPlanner, kWriter, kRepairer, kReviewer, kLibrarian };
std::string_view to_string(Role role);  // "writer"
std::optional<Role> role_from_string(std::string_view name);

// One question. (role, ordinal) is the key of a replay: ordinal counts a run's calls of that role from 1.
struct ModelCall {
  Role role = Role::kWriter;
  std::uint64_t ordinal = 0;
  std::string system;  // the role's standing instructions
  std::string prefix;  // what repeats in every call (the task): first, so that it can be cached
  std::string prompt;  // what is new
  std::int64_t max_output_tokens = 16'000;
};

// Token counts as one meaning for all dialects: input includes cached, output includes reasoning.
// nullopt: the server did not say; then the estimate is used for budgets and marked as one.
struct Usage {
  std::optional<std::int64_t> input_tokens, cached_tokens, output_tokens, reasoning_tokens;
  std::int64_t estimated_input_tokens = 0, estimated_output_tokens = 0;
  std::optional<std::int64_t> cost_nanodollars;  // nullopt: price unknown
  std::string raw_json;                          // the server's usage object
  std::int64_t retried_tokens = 0;               // estimate: earlier tries of this call that reached the model; in
                                                 // the cost, not in the counts above
};

enum class Finish : std::uint8_t { kDone, kLength, kRefused, kFiltered, kTool, kContextFull, kError, kUnknown };
std::string_view to_string(Finish finish);

struct Reply {
  std::string text;
  std::string reasoning;  // kept for the record; never read as an answer
  Finish finish = Finish::kDone;
  std::string finish_raw;
  Usage usage;
  std::string model, request_id;
  std::string request_body;  // as sent, without any key
  std::chrono::milliseconds latency{0};
  int tries = 1;
  std::vector<std::string> notes;  // "answers another request than the one recorded", "usage is an estimate"...
};

struct ModelError {
  enum class Kind : std::uint8_t {
    kUnreachable,
    kTimeout,
    kAuthentication,
    kQuota,
    kRateLimit,
    kBadRequest,
    kContextFull,
    kServer,
    kProtocol,
    kCancelled,
    kNoReply,
    kWaiting,  // exchange mode without a reply yet
    kBudget,   // the run's own budget is spent: not sent
  } kind = Kind::kUnreachable;
  std::string message;        // no key, no control characters, bounded
  bool run_can_go_on = true;  // false: every further call would fail the same way
  Usage spent;                // tokens of tries that reached the model
};
std::string_view to_string(ModelError::Kind kind);

// Thread-safe. Retries inside; a stop request ends any wait.
struct Model {
  virtual ~Model() = default;
  virtual std::expected<Reply, ModelError> ask(const ModelCall& call, std::stop_token stop) = 0;
  virtual std::string description() const = 0;  // "openai gpt-x at https://host/v1": for run.json, no key
};

}  // namespace kf
