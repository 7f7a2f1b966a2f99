// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "fake_clock.h"
#include "model/http.h"
#include "model/http_model.h"
#include "tests/fakes/fault_server.h"

namespace kf::test {

// What one request gets.
struct Canned {
  int status = 200;  // 0: no head at all
  std::string body;
  std::vector<std::pair<std::string, std::string>> headers;
  std::optional<HttpFault> fault;  // after the body
};

// Answers without sockets, one Canned a request, and keeps what was asked. The last one serves all that follow.
class FakeHttp : public Http {
 public:
  explicit FakeHttp(std::vector<Canned> answers) : answers_(std::move(answers)) {}
  std::optional<HttpFault> send(const HttpRequest& request, HttpReceiver& receiver, std::stop_token stop) override {
    Canned answer;
    {
      const std::lock_guard lock(mutex_);
      answer = answers_[std::min(requests_.size(), answers_.size() - 1)];
      requests_.push_back(request);
    }
    if (stop.stop_requested()) {
      return HttpFault{HttpFault::Kind::kCancelled, "stopped", true};
    }
    if (answer.status != 0) {
      receiver.on_head({answer.status, answer.headers});
      for (std::size_t at = 0; at < answer.body.size(); at += 11) {  // cut anywhere
        if (receiver.on_bytes(std::string_view(answer.body).substr(at, 11)) == Wanted::kEnough) {
          return std::nullopt;
        }
      }
    }
    return answer.fault;
  }
  std::vector<HttpRequest> requests() const {
    const std::lock_guard lock(mutex_);
    return requests_;
  }

 private:
  const std::vector<Canned> answers_;
  mutable std::mutex mutex_;
  std::vector<HttpRequest> requests_;
};

inline ModelCall small_call(std::uint64_t ordinal = 1) {
  return {.role = Role::kWriter,
          .ordinal = ordinal,
          .system = "You write kernels.",
          .prefix = "The task.",
          .prompt = "Write one.",
          .max_output_tokens = 500};
}

// A model on canned answers, with what it did.
struct Bench {
  explicit Bench(std::vector<Canned> answers, ModelConfig settings = {})
      : config(std::move(settings)), http(std::make_shared<FakeHttp>(std::move(answers))) {
    config.model = config.model.empty() ? "m-1" : config.model;
    restart();
  }
  void restart() {
    HttpModelParts parts{.config = config,
                         .base_url = "http://127.0.0.1:9/v1",
                         .dialect = config.provider == Provider::kAnthropic ? anthropic_messages_dialect(config)
                                                                            : openai_chat_dialect(config),
                         .http = http,
                         .limiter = limiter,
                         .clock = &clock,
                         .hooks = {},
                         .headers = {},
                         .draw = [] { return 0.0; }};
    parts.hooks.notice = [this](const std::string& text) { notices.push_back(text); };
    parts.hooks.may_spend = [this](const Usage& so_far) {
      asked_with.push_back(so_far);
      return may_spend;
    };
    parts.headers.push_back({"Authorization", "Bearer ", Secret("sk-marker-0123456789")});
    model = std::make_unique<HttpModel>(std::move(parts));
  }
  std::expected<Reply, ModelError> ask(std::stop_token stop = {}) { return model->ask(small_call(), std::move(stop)); }

  ModelConfig config;
  FakeClock clock;
  std::shared_ptr<FakeHttp> http;
  std::shared_ptr<Limiter> limiter = std::make_shared<Limiter>();
  bool may_spend = true;
  std::vector<Usage> asked_with;  // what may_spend was told
  std::vector<std::string> notices;
  std::unique_ptr<HttpModel> model;
};

}  // namespace kf::test
