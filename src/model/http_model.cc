// SPDX-License-Identifier: Apache-2.0
#include "http_model.h"

#include <algorithm>
#include <utility>

#include "price.h"
#include "response_reader.h"

namespace kf {

using Kind = ModelError::Kind;
using Milliseconds = std::chrono::milliseconds;

// One request and what came of it.
struct HttpModel::Try {
  HttpHead head;
  Answer answer;
  std::string error_body;
  std::optional<HttpFault> fault;
  Milliseconds latency{0};

  bool succeeded() const { return head.status >= 200 && head.status < 300; }
  bool has_output() const { return !answer.text.empty() || !answer.reasoning.empty(); }
  // The model may have worked on it, so that it may cost.
  bool reached_model() const { return head.status == 0 ? fault && fault->sent : succeeded(); }
};

struct HttpModel::Failure {
  Kind kind = Kind::kServer;
  std::string message;
  bool retry = false;
  bool run_can_go_on = true;
  std::optional<ApiError> api;        // what the server said
  std::optional<Milliseconds> asked;  // wait that the server asked for
};

namespace {

std::string in_words(Milliseconds time) {
  const auto seconds = std::chrono::ceil<std::chrono::seconds>(time).count();
  return seconds < 120 ? std::to_string(seconds) + " s" : std::to_string((seconds + 59) / 60) + " min";
}

// Models of which no one split the thoughts off put them into the text, before the answer.
void take_thoughts_out(Answer& answer) {
  constexpr std::string_view kOpen = "<think>", kClose = "</think>";
  const std::size_t first = answer.text.find_first_not_of(" \t\r\n");
  if (first == std::string::npos || answer.text.compare(first, kOpen.size(), kOpen) != 0) {
    return;
  }
  const std::size_t close = answer.text.find(kClose, first);
  const std::size_t begin = first + kOpen.size();
  answer.reasoning += answer.text.substr(begin, close == std::string::npos ? close : close - begin);
  answer.text.erase(0, close == std::string::npos ? close : close + kClose.size());
  answer.text.erase(0, answer.text.find_first_not_of(" \t\r\n"));
}

std::size_t bytes_of(const ModelCall& call) {
  return call.system.size() + call.prefix.size() + call.prompt.size();
}

void estimate(Usage& usage, const ModelCall& call, const Answer& answer) {
  usage.estimated_input_tokens = usage.input_tokens.value_or(estimated_tokens(bytes_of(call)));
  usage.estimated_output_tokens =
      usage.output_tokens.value_or(estimated_tokens(answer.text.size() + answer.reasoning.size()));
}

}  // namespace

std::string endpoint_url(std::string_view base_url, std::string_view path) {
  const std::size_t query = std::min(base_url.find('?'), base_url.size());
  std::string url(base_url.substr(0, query));
  while (url.ends_with('/')) {
    url.pop_back();
  }
  return url.append(path).append(base_url.substr(query));
}

HttpModel::HttpModel(HttpModelParts parts) : parts_(std::move(parts)) {
  for (const HttpHeader& header : parts_.headers) {
    redactor_.add(header.secret);
  }
}

std::string HttpModel::description() const {
  const std::string url = parts_.base_url.substr(0, parts_.base_url.find('?'));
  return std::string(to_string(parts_.config.provider)) + ' ' + parts_.config.model + " at " + url;
}

std::expected<Reply, ModelError> HttpModel::ask(const ModelCall& call, std::stop_token stop) {
  Usage spent;  // by the tries before this one
  for (int retry = 0, tries = 1;; ++tries) {
    if (auto end = wait_for_turn(spent, stop)) {
      price(spent, parts_.config.model);
      end->spent = spent;
      return std::unexpected(std::move(*end));
    }
    const Quirks used = quirks();
    WireRequest request = parts_.dialect->request(call, used);
    Try attempt = one_try(request, stop);
    const std::optional<Failure> failure = failure_of(attempt);
    if (!failure) {
      return reply_from(std::move(attempt), call, std::move(request),
                        spent.estimated_input_tokens + spent.estimated_output_tokens, tries);
    }
    if (attempt.reached_model()) {
      Usage usage = attempt.answer.usage;
      estimate(usage, call, attempt.answer);
      spent.estimated_input_tokens += usage.estimated_input_tokens;
      spent.estimated_output_tokens += usage.estimated_output_tokens;
    }
    if (repaired(*failure, used)) {
      continue;
    }
    // A server that is silent for the whole idle time is not asked as often as one that answers.
    constexpr int kMostTimeouts = 2;
    const int most = failure->kind == Kind::kTimeout ? std::min(kMostTimeouts, parts_.config.retry.max_retries)
                                                     : parts_.config.retry.max_retries;
    std::optional<ModelError> end;
    if (!failure->retry || retry >= most) {
      const std::string after = tries > 1 ? " (" + std::to_string(tries) + " tries)" : "";
      end = error(failure->kind, failure->message + after, failure->run_can_go_on);
    } else {
      end = wait_before_retry(*failure, ++retry, stop);
    }
    if (end) {
      price(spent, parts_.config.model);
      end->spent = spent;
      return std::unexpected(std::move(*end));
    }
  }
}

HttpModel::Try HttpModel::one_try(const WireRequest& wire, const std::stop_token& stop) {
  HttpRequest request{.url = endpoint_url(parts_.base_url, wire.path),
                      .headers = wire.headers,
                      .body = wire.body,
                      .timeouts = parts_.config.timeouts};
  request.headers.push_back({"Content-Type", "application/json", {}});
  request.headers.push_back({"Accept", "text/event-stream, application/json", {}});
  request.headers.insert(request.headers.end(), parts_.headers.begin(), parts_.headers.end());

  const std::unique_ptr<Interpreter> interpreter = parts_.dialect->interpreter();
  ResponseReader reader(*interpreter);
  const auto start = parts_.clock->now();
  Try result;
  result.fault = parts_.http->send(request, reader, stop);
  reader.finish();
  result.latency = std::chrono::duration_cast<Milliseconds>(parts_.clock->now() - start);
  result.head = reader.head();
  result.answer = std::move(interpreter->answer);
  result.error_body = reader.error_body();
  redact(result);
  return result;
}

// Before anything is cut to length: half a key is still half a key.
void HttpModel::redact(Try& attempt) const {
  const auto clean = [this](std::string& text) { text = redactor_.clean(std::move(text)); };
  Answer& answer = attempt.answer;
  for (std::string* const text : {&answer.text, &answer.reasoning, &answer.finish_raw, &answer.model, &answer.id,
                                  &answer.malformed, &answer.usage.raw_json, &attempt.error_body}) {
    clean(*text);
  }
  if (answer.error) {
    for (std::string* const text :
         {&answer.error->message, &answer.error->type, &answer.error->code, &answer.error->param}) {
      clean(*text);
    }
  }
  for (auto& [name, value] : attempt.head.headers) {
    clean(value);
  }
}

// nullopt: an answer. The order matters: a finished answer is one even if the connection broke afterwards.
std::optional<HttpModel::Failure> HttpModel::failure_of(const Try& attempt) const {
  const Answer& answer = attempt.answer;
  const bool unstarted = !attempt.has_output();
  if (attempt.fault && attempt.fault->kind == HttpFault::Kind::kCancelled) {
    return Failure{.kind = Kind::kCancelled, .message = "stopped while the model was asked"};
  }
  if (attempt.head.status != 0 && (!attempt.succeeded() || answer.error)) {
    ApiError api = attempt.succeeded() ? *answer.error : read_api_error(attempt.head.status, attempt.error_body);
    if (const auto target = attempt.head.find("location");
        target && attempt.head.status < 400 && !attempt.succeeded()) {
      api.message = "the server redirects to " + one_line(*target, 200) +
                    "; redirects are not followed, set base_url to where the API is";
    }
    const Judgement judgement = judge(api, &attempt.head);
    return Failure{.kind = judgement.kind,
                   .message = describe(api, judgement.kind),
                   .retry = judgement.retry && unstarted,
                   .run_can_go_on = judgement.run_can_go_on,
                   .api = std::move(api),
                   .asked = asked_wait(attempt.head, parts_.clock->utc())};
  }
  if (!answer.malformed.empty()) {
    return Failure{.kind = Kind::kProtocol,
                   .message = "the server sent what is not JSON: " + one_line(answer.malformed, 120),
                   .retry = unstarted};
  }
  if (attempt.succeeded() && (answer.finish || (answer.ended && !unstarted))) {
    return std::nullopt;
  }
  if (attempt.fault) {
    const HttpFault& fault = *attempt.fault;
    Failure failure{.kind = Kind::kUnreachable, .message = one_line(fault.message), .retry = unstarted};
    if (fault.kind == HttpFault::Kind::kUnavailable || fault.kind == HttpFault::Kind::kTls ||
        fault.kind == HttpFault::Kind::kTooLarge) {
      failure.retry = false;
    }
    failure.run_can_go_on = fault.sent || attempt.head.status != 0;
    if (fault.kind == HttpFault::Kind::kTimeout) {
      failure.kind = Kind::kTimeout;
    } else if (fault.kind == HttpFault::Kind::kMalformed || fault.kind == HttpFault::Kind::kTooLarge ||
               attempt.head.status != 0) {
      failure.kind = Kind::kProtocol;
    }
    const std::string where =
        unstarted ? ""
                  : "the answer broke off after about " +
                        std::to_string(estimated_tokens(answer.text.size() + answer.reasoning.size())) + " tokens: ";
    failure.message =
        (where.empty() ? parts_.base_url.substr(0, parts_.base_url.find('?')) + ": " : where) + failure.message;
    return failure;
  }
  if (attempt.head.find("content-type").value_or("").starts_with("text/html")) {
    return Failure{.kind = Kind::kProtocol,
                   .message = "the server answered with a web page; is base_url right (OpenAI's form ends in /v1)?",
                   .run_can_go_on = false};
  }
  return Failure{.kind = Kind::kProtocol,
                 .message = unstarted
                                ? "the server ended its answer without a word"
                                : "the answer ended without a finish reason: it is cut off after about " +
                                      std::to_string(estimated_tokens(answer.text.size() + answer.reasoning.size())) +
                                      " tokens",
                 .retry = unstarted};
}

// True: ask again, differently. What another thread learnt since `used` counts too.
bool HttpModel::repaired(const Failure& failure, const Quirks& used) {
  if (!failure.api) {
    return false;
  }
  const std::optional<Dialect::Repair> repair = parts_.dialect->repair(*failure.api, used);
  if (!repair) {
    return false;
  }
  {
    const std::lock_guard lock(mutex_);
    if (quirks_ != used) {
      return true;
    }
    quirks_ = repair->quirks;
  }
  notice(repair->lesson);
  return true;
}

std::optional<ModelError> HttpModel::wait_for_turn(const Usage& so_far, const std::stop_token& stop) {
  for (;;) {
    if (stop.stop_requested()) {
      return error(Kind::kCancelled, "stopped before the model was asked", true);
    }
    const Milliseconds wait = parts_.limiter->wait_from(parts_.clock->now());
    if (wait.count() <= 0) {
      break;
    }
    parts_.clock->sleep(wait, stop);
  }
  if (parts_.hooks.may_spend) {
    Usage priced = so_far;
    price(priced, parts_.config.model);
    const std::lock_guard lock(mutex_);
    if (!parts_.hooks.may_spend(priced)) {
      return error(Kind::kBudget, "the run's budget is spent: the model was not asked again", false);
    }
  }
  return std::nullopt;
}

std::optional<ModelError> HttpModel::wait_before_retry(const Failure& failure, int retry, const std::stop_token& stop) {
  const RetrySettings& settings = parts_.config.retry;
  if (failure.asked && *failure.asked > settings.give_up) {
    return error(failure.kind,
                 failure.message + " - the server asks to wait " + in_words(*failure.asked) +
                     ", longer than retry.give_up allows",
                 false);
  }
  const Milliseconds delay = retry_delay(retry, failure.asked, settings, draw());
  if (delay > settings.visible_pause) {
    notice("the server asks for a pause of " + in_words(delay) + " (" + failure.message + "); waiting");
  }
  if (failure.asked || failure.kind == Kind::kRateLimit) {
    parts_.limiter->hold_until(parts_.clock->now() + delay);  // everybody's pause; wait_for_turn sits it out
  } else if (!parts_.clock->sleep(delay, stop)) {
    return error(Kind::kCancelled, "stopped while waiting to ask again", true);
  }
  return std::nullopt;
}

Reply HttpModel::reply_from(Try attempt, const ModelCall& call, WireRequest request, std::int64_t retried_tokens,
                            int tries) {
  Answer& answer = attempt.answer;
  take_thoughts_out(answer);
  Reply reply;
  reply.usage = std::move(answer.usage);
  estimate(reply.usage, call, answer);
  reply.usage.retried_tokens = retried_tokens;
  price(reply.usage, answer.model);
  reply.text = std::move(answer.text);
  reply.reasoning = std::move(answer.reasoning);
  reply.finish = answer.finish.value_or(Finish::kUnknown);
  reply.finish_raw = one_line(answer.finish_raw, 100);
  reply.model = one_line(answer.model, 200);
  const auto id =
      attempt.head.find("x-request-id") ? attempt.head.find("x-request-id") : attempt.head.find("request-id");
  reply.request_id = one_line(id.value_or(answer.id), 200);
  reply.request_body = redactor_.clean(std::move(request.body));
  reply.latency = attempt.latency;
  reply.tries = tries;

  if (!answer.finish) {
    reply.notes.push_back("the server gave no finish reason");
  }
  if (attempt.fault) {
    reply.notes.push_back("the connection broke after the end of the answer: " + one_line(attempt.fault->message));
  }
  if (!reply.usage.input_tokens || !reply.usage.output_tokens) {
    reply.notes.push_back("the server did not say how many tokens were used; the counts are estimates");
  }
  constexpr std::int64_t kSmallPrompt = 1'000;
  const std::int64_t expected = estimated_tokens(bytes_of(call));
  if (const auto counted = reply.usage.input_tokens; counted && expected > kSmallPrompt && *counted < expected / 2) {
    reply.notes.push_back("the server counted " + std::to_string(*counted) + " prompt tokens where about " +
                          std::to_string(expected) +
                          " were sent: it may have cut the prompt (a too small context, as Ollama's num_ctx)");
    if (!told_of_cut_prompt_.exchange(true)) {
      notice(reply.notes.back());
    }
  }
  return reply;
}

void HttpModel::price(Usage& usage, std::string_view model) const {
  const Price* price = find_price(parts_.config.prices, model);
  price = price != nullptr ? price : find_price(parts_.config.prices, parts_.config.model);
  if (price != nullptr && !usage.cost_nanodollars) {
    usage.cost_nanodollars = cost_of(usage, *price);
  }
}

ModelError HttpModel::error(Kind kind, std::string message, bool run_can_go_on) const {
  return {.kind = kind,
          .message = one_line(redactor_.clean(std::move(message)), 900),
          .run_can_go_on = run_can_go_on,
          .spent = {}};
}

void HttpModel::notice(const std::string& text) {
  if (parts_.hooks.notice) {
    const std::lock_guard lock(mutex_);
    parts_.hooks.notice(one_line(redactor_.clean(text), 900));
  }
}

Quirks HttpModel::quirks() const {
  const std::lock_guard lock(mutex_);
  return quirks_;
}

double HttpModel::draw() {
  const std::lock_guard lock(mutex_);
  return parts_.draw();
}

}  // namespace kf
