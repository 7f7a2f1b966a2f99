// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <memory>
#include <string>
#include <string_view>

#include "dialect.h"
#include "http.h"
#include "sse.h"

namespace kf {

// Feeds one HTTP response to an interpreter, as a stream of events or as one document (a server that ignores
// `stream`), whichever it turns out to be. The body of an error is kept instead.
class ResponseReader : public HttpReceiver {
 public:
  explicit ResponseReader(Interpreter& interpreter);

  void on_head(const HttpHead& head) override;
  Wanted on_bytes(std::string_view bytes) override;
  // After the last byte: reads what was a document.
  void finish();

  const HttpHead& head() const { return head_; }
  bool succeeded() const { return head_.status >= 200 && head_.status < 300; }
  const std::string& error_body() const { return error_body_; }

 private:
  enum class Form { kUnknown, kEvents, kDocument };
  Interpreter& interpreter_;
  SseParser events_;
  HttpHead head_;
  Form form_ = Form::kUnknown;
  std::string document_, error_body_;
};

}  // namespace kf
