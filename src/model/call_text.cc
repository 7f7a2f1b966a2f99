// SPDX-License-Identifier: Apache-2.0
#include "call_text.h"

#include <cstdint>

#include "price.h"

namespace kf {
namespace {

// Length of the well-formed UTF-8 sequence at the front, 0 when there is none (RFC 3629: no surrogates, no
// overlong forms, nothing above U+10FFFF).
std::size_t sequence_length(std::string_view text) {
  const auto byte = [&](std::size_t i) {
    return i < text.size() ? static_cast<std::uint8_t>(text[i]) : std::uint8_t{0};
  };
  const auto tail = [&](std::size_t i) { return (byte(i) & 0xC0) == 0x80; };
  const std::uint8_t lead = byte(0), second = byte(1);
  if (lead < 0x80) {
    return 1;
  }
  if (lead >= 0xC2 && lead <= 0xDF) {
    return tail(1) ? 2 : 0;
  }
  if (lead >= 0xE0 && lead <= 0xEF) {
    const bool second_fits = lead == 0xE0 ? second >= 0xA0 : lead != 0xED || second <= 0x9F;
    return tail(1) && second_fits && tail(2) ? 3 : 0;
  }
  if (lead >= 0xF0 && lead <= 0xF4) {
    const bool second_fits = lead == 0xF0 ? second >= 0x90 : lead != 0xF4 || second <= 0x8F;
    return tail(1) && second_fits && tail(2) && tail(3) ? 4 : 0;
  }
  return 0;
}

std::string section(std::string_view title, const std::string& text) {
  return text.empty() ? std::string()
                      : "\n# " + std::string(title) + "\n\n" + text + (text.ends_with('\n') ? "" : "\n");
}

}  // namespace

std::string markdown_of(const ModelCall& call) {
  return section("Instructions", call.system) + section("Task", call.prefix) + section("Question", call.prompt);
}

std::string clean_text(std::string_view bytes) {
  if (bytes.starts_with("\xEF\xBB\xBF")) {
    bytes.remove_prefix(3);
  }
  std::string text;
  text.reserve(bytes.size());
  while (!bytes.empty()) {
    if (bytes.starts_with("\r\n")) {
      bytes.remove_prefix(1);
    }
    const std::size_t length = sequence_length(bytes);
    text += length == 0 ? std::string_view("\xEF\xBF\xBD") : bytes.substr(0, length);
    bytes.remove_prefix(length == 0 ? 1 : length);
  }
  return text;
}

Reply plain_reply(std::string text, const ModelCall& call, std::string_view model) {
  Reply reply;
  reply.text = std::move(text);
  reply.finish_raw = "stop";
  reply.model = model;
  reply.request_body = markdown_of(call);
  reply.usage.estimated_input_tokens = estimated_tokens(call.system.size() + call.prefix.size() + call.prompt.size());
  reply.usage.estimated_output_tokens = estimated_tokens(reply.text.size());
  return reply;
}

}  // namespace kf
