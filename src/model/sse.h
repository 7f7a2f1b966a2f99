// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cstddef>
#include <functional>
#include <string>
#include <string_view>

namespace kf {

struct SseEvent {
  std::string name;  // empty: no event field
  std::string data;  // lines joined with '\n'
};

// Server-sent events after the WHATWG HTML standard, section 9.2.6: lines end in LF, CR or CRLF, a leading
// byte-order mark is dropped, comments are skipped, an unfinished last event is dropped. Bytes may be cut
// anywhere. `id` and `retry` have no meaning here: nothing reconnects.
class SseParser {
 public:
  explicit SseParser(std::function<void(SseEvent&&)> on_event, std::size_t largest_event = 16u << 20);

  // False once an event grew beyond the largest size; then the rest is ignored.
  bool feed(std::string_view bytes);
  // Bytes of a line or event that no blank line has ended.
  bool unfinished() const { return !line_.empty() || has_data_; }

 private:
  void end_line();
  void dispatch();

  std::function<void(SseEvent&&)> on_event_;
  std::size_t largest_event_;
  std::string line_;
  SseEvent event_;
  bool has_data_ = false, after_cr_ = false, first_line_ = true, too_large_ = false;
};

}  // namespace kf
