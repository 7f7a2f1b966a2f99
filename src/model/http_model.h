// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <atomic>
#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include <kfactory/clock.h>
#include <kfactory/model.h>

#include "config.h"
#include "dialect.h"
#include "http.h"
#include "retry.h"
#include "secret.h"

namespace kf {

// What an HttpModel is wired from.
struct HttpModelParts {
  ModelConfig config;
  std::string base_url;  // resolved: never empty, no slash at its end, no user name
  std::unique_ptr<Dialect> dialect;
  std::shared_ptr<Http> http;
  std::shared_ptr<Limiter> limiter;  // of the endpoint
  Clock* clock = nullptr;
  ModelHooks hooks;
  std::vector<HttpHeader> headers;  // the key and the user's own
  std::function<double()> draw;     // uniform in [0, 1): jitter; called under a lock
};

// A model behind an HTTP endpoint: tries, repairs, waits, counts. docs/models.md gives the rules.
class HttpModel : public Model {
 public:
  explicit HttpModel(HttpModelParts parts);
  std::expected<Reply, ModelError> ask(const ModelCall& call, std::stop_token stop) override;
  std::string description() const override;

 private:
  struct Try;
  struct Failure;
  Try one_try(const WireRequest& request, const std::stop_token& stop);
  void redact(Try& attempt) const;
  std::optional<Failure> failure_of(const Try& attempt) const;
  bool repaired(const Failure& failure, const Quirks& used);
  std::optional<ModelError> wait_for_turn(const Usage& so_far, const std::stop_token& stop);
  std::optional<ModelError> wait_before_retry(const Failure& failure, int retry, const std::stop_token& stop);
  Reply reply_from(Try attempt, const ModelCall& call, WireRequest request, std::int64_t retried_tokens, int tries);
  void price(Usage& usage, std::string_view model) const;
  ModelError error(ModelError::Kind kind, std::string message, bool run_can_go_on) const;
  void notice(const std::string& text);
  Quirks quirks() const;
  double draw();

  const HttpModelParts parts_;
  Redactor redactor_;
  mutable std::mutex mutex_;  // guards what follows, and the calls of hooks and draw
  Quirks quirks_;
  std::atomic<bool> told_of_cut_prompt_ = false;
};

// "https://host/v1?api-version=1" and "/chat/completions" -> "https://host/v1/chat/completions?api-version=1".
std::string endpoint_url(std::string_view base_url, std::string_view path);

}  // namespace kf
