// SPDX-License-Identifier: Apache-2.0
#include "rig/message.h"

#include <algorithm>
#include <array>
#include <nlohmann/json.hpp>

#include "format/job_json.h"
#include "format/outcome_json.h"

namespace kf {
namespace {

using nlohmann::json;
constexpr std::array<std::string_view, 5> kKinds{"hello", "job", "progress", "outcome", "cancel"};

bool measures_time(const Job& job) {
  return job.kind == Job::Kind::kTime || job.kind == Job::Kind::kProfile || job.kind == Job::Kind::kDescribe;
}

std::unexpected<Error> refuse(std::string where, std::string what) {
  return std::unexpected(Error{std::move(where), std::move(what), ""});
}

}  // namespace

// The body is put in as it is: it was made by our own encoder, and parsing it again would cost as much as making it.
Frame to_frame(const Message& message) {
  std::string text = "{\"message\":\"" + std::string(kKinds.at(static_cast<std::size_t>(message.kind))) + "\"";
  text += ",\"job\":" + std::to_string(message.job);
  if (message.kind == MessageKind::kJob) {
    text += ",\"deadline_ms\":" + std::to_string(message.deadline.count());
    text += message.measures ? "" : ",\"measures\":false";
  }
  if (!message.phase.empty()) {
    text += ",\"phase\":" + json(message.phase).dump(-1, ' ', false, json::error_handler_t::replace);
  }
  if (!message.body.empty()) {
    text += ",\"body\":" + message.body;
  }
  return {text + "}", message.blob};
}

OrError<Message> read_message(Frame frame) {
  // The envelope is flat and comes first; the body is the rest of the text, for its own decoder.
  constexpr std::string_view kBody = ",\"body\":";
  const std::size_t body = frame.json.find(kBody);
  std::string_view envelope(frame.json);
  Message message;
  std::string closed;
  if (body != std::string::npos) {
    if (frame.json.back() != '}') {
      return refuse("$", "the message is no JSON object");
    }
    message.body = frame.json.substr(body + kBody.size(), frame.json.size() - body - kBody.size() - 1);
    closed = frame.json.substr(0, body) + "}";
    envelope = closed;
  }
  if (envelope.size() > 1000) {
    return refuse("$", "the envelope of a message has " + std::to_string(envelope.size()) + " bytes; allowed are 1000");
  }
  const json parsed = json::parse(envelope, nullptr, false);
  if (!parsed.is_object()) {
    return refuse("$", "the message is no JSON object");
  }
  const auto kind = std::ranges::find(
      kKinds, parsed.value("message", json()).is_string() ? parsed["message"].get<std::string>() : std::string());
  if (kind == kKinds.end()) {
    return refuse("$.message", "expected one of hello, job, progress, outcome, cancel");
  }
  message.kind = static_cast<MessageKind>(kind - kKinds.begin());
  const json job = parsed.value("job", json(0U));
  const json deadline = parsed.value("deadline_ms", json(0U));
  if (!job.is_number_unsigned() || !deadline.is_number_unsigned() || deadline.get<std::uint64_t>() > 1ULL << 40) {
    return refuse("$.job", "job and deadline_ms are non-negative integers");
  }
  message.job = job.get<std::uint64_t>();
  message.deadline = std::chrono::milliseconds(deadline.get<std::int64_t>());
  message.measures = parsed.value("measures", json(true)) != json(false);
  if (const json phase = parsed.value("phase", json("")); phase.is_string()) {
    message.phase = phase.get<std::string>();
  }
  message.blob = std::move(frame.blob);
  return message;
}

Message hello_message(const Hello& hello) {
  Message message;
  message.kind = MessageKind::kHello;
  const std::string described = encode_outcome(hello.described).json;  // one object: its member joins ours
  message.body = "{\"protocol\":" + std::to_string(hello.protocol) +
                 ",\"version\":" + json(hello.version).dump(-1, ' ', false, json::error_handler_t::replace) + "," +
                 described.substr(1);
  return message;
}

OrError<Hello> read_hello(const Message& message) {
  Hello hello;
  hello.protocol = 0;
  const auto error = decode_with(message.body, {}, [&](JsonReader& reader) {
    reader("protocol", hello.protocol);
    reader("version", hello.version);
  });
  if (message.kind != MessageKind::kHello || error || hello.protocol == 0) {
    return refuse("hello", "the worker's first message is no hello; is its binary kfactory?");
  }
  if (hello.protocol != kProtocolVersion) {
    return refuse("hello.protocol", "the worker speaks protocol " + std::to_string(hello.protocol) + ", this binary " +
                                        std::to_string(kProtocolVersion) + ": install the same kfactory on both sides");
  }
  auto described = decode_outcome(message.body, {});
  if (!described) {
    return std::unexpected(described.error());
  }
  hello.described = *std::move(described);
  return hello;
}

Message job_message(std::uint64_t number, const Job& job) {
  Encoded encoded = encode_job(job);
  Message message{MessageKind::kJob, number, job.deadline, measures_time(job), "", "", {}};
  message.body = std::move(encoded.json);
  message.blob = std::move(encoded.blob);
  return message;
}

Message outcome_message(std::uint64_t number, const Outcome& outcome) {
  Encoded encoded = encode_outcome(outcome);
  Message message{MessageKind::kOutcome, number, {}, true, "", "", {}};
  message.body = std::move(encoded.json);
  message.blob = std::move(encoded.blob);
  return message;
}

Message progress_message(std::uint64_t number, std::string phase) {
  Message message{MessageKind::kProgress, number, {}, true, "", "", {}};
  message.phase = std::move(phase);
  return message;
}

}  // namespace kf
