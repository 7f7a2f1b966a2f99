// SPDX-License-Identifier: Apache-2.0
#include "response_reader.h"

namespace kf {
namespace {
constexpr std::size_t kLargestErrorBody = 64u << 10;
}  // namespace

ResponseReader::ResponseReader(Interpreter& interpreter)
    : interpreter_(interpreter), events_([this](SseEvent&& event) { interpreter_.on_event(event); }) {}

void ResponseReader::on_head(const HttpHead& head) {
  head_ = head;
}

Wanted ResponseReader::on_bytes(std::string_view bytes) {
  if (!succeeded()) {
    error_body_ += bytes.substr(0, kLargestErrorBody - error_body_.size());
    return error_body_.size() < kLargestErrorBody ? Wanted::kMore : Wanted::kEnough;
  }
  if (form_ == Form::kUnknown) {  // content types are wrong too often to ask them; no event stream begins with '{'
    const std::size_t first = bytes.find_first_not_of(" \t\r\n");
    if (first == std::string_view::npos) {
      events_.feed(bytes);
      return Wanted::kMore;
    }
    form_ = bytes[first] == '{' || bytes[first] == '[' ? Form::kDocument : Form::kEvents;
  }
  if (form_ == Form::kDocument) {
    document_ += bytes;
    return Wanted::kMore;
  }
  if (!events_.feed(bytes)) {
    interpreter_.answer.malformed = "an event of more than 16 MiB";
  }
  const Answer& answer = interpreter_.answer;
  return answer.ended || answer.error || !answer.malformed.empty() ? Wanted::kEnough : Wanted::kMore;
}

void ResponseReader::finish() {
  if (form_ == Form::kDocument) {
    interpreter_.on_document(document_);
  }
}

}  // namespace kf
