// SPDX-License-Identifier: Apache-2.0
#include "sse.h"

#include <utility>

namespace kf {

SseParser::SseParser(std::function<void(SseEvent&&)> on_event, std::size_t largest_event)
    : on_event_(std::move(on_event)), largest_event_(largest_event) {}

bool SseParser::feed(std::string_view bytes) {
  while (!bytes.empty() && !too_large_) {
    if (std::exchange(after_cr_, false) && bytes.front() == '\n') {  // the second half of CRLF
      bytes.remove_prefix(1);
      continue;
    }
    const std::size_t end = bytes.find_first_of("\r\n");
    const std::string_view part = bytes.substr(0, end);
    if (line_.size() + event_.data.size() + part.size() > largest_event_) {
      too_large_ = true;
      break;
    }
    line_ += part;
    if (end == std::string_view::npos) {
      break;
    }
    after_cr_ = bytes[end] == '\r';
    bytes.remove_prefix(end + 1);
    end_line();
  }
  return !too_large_;
}

void SseParser::end_line() {
  std::string line = std::exchange(line_, {});
  if (std::exchange(first_line_, false) && line.starts_with("\xEF\xBB\xBF")) {
    line.erase(0, 3);
  }
  if (line.empty()) {
    dispatch();
    return;
  }
  const std::size_t colon = line.find(':');
  if (colon == 0) {
    return;  // a comment; servers send them to keep the connection open
  }
  const std::string_view field = std::string_view(line).substr(0, colon);
  std::string_view value = colon == std::string::npos ? std::string_view() : std::string_view(line).substr(colon + 1);
  if (value.starts_with(' ')) {
    value.remove_prefix(1);
  }
  if (field == "data") {
    if (std::exchange(has_data_, true)) {
      event_.data += '\n';
    }
    event_.data += value;
  } else if (field == "event") {
    event_.name = value;
  }
}

void SseParser::dispatch() {
  SseEvent event = std::exchange(event_, {});
  if (std::exchange(has_data_, false)) {  // an event without data is not dispatched; its name is forgotten
    on_event_(std::move(event));
  }
}

}  // namespace kf
