// SPDX-License-Identifier: Apache-2.0
#include "compile/ptx_cursor.h"

#include <algorithm>

namespace kf {

using Kind = PtxToken::Kind;

const PtxToken& PtxCursor::peek(std::size_t ahead) const {
  return tokens_[std::min(at_ + ahead, tokens_.size() - 1)];
}

bool PtxCursor::is(std::string_view text, std::size_t ahead) const {
  return peek(ahead).kind != Kind::kString && peek(ahead).text == text;
}

PtxToken PtxCursor::take() {
  const PtxToken token = peek();
  if (token.kind == Kind::kEnd) {
    fail("the text ends in the middle of a statement");
  }
  ++at_;
  return token;
}

bool PtxCursor::accept(std::string_view text) {
  if (is(text)) {
    ++at_;
    return true;
  }
  return false;
}

void PtxCursor::expect(std::string_view text) {
  if (!accept(text)) {
    fail("expected `" + std::string(text) + "`, found `" + std::string(peek().text.substr(0, 40)) + "`");
  }
}

std::string PtxCursor::word() {
  if (peek().kind != Kind::kWord) {
    fail("expected a name, found `" + std::string(peek().text.substr(0, 40)) + "`");
  }
  return std::string(take().text);
}

void PtxCursor::fail(const std::string& what) const {
  throw UnreadablePtx{Error{"PTX line " + std::to_string(peek().line), what, ""}};
}

void PtxCursor::skip_balanced(std::string_view open, std::string_view close) {
  expect(open);
  for (int depth = 1; depth > 0;) {
    const PtxToken token = take();
    depth += token.text == open ? 1 : token.text == close ? -1 : 0;
  }
}

// They have no semicolon, so each is read exactly: what follows on the same line is code.
bool PtxCursor::skip_debug_directive() {
  if (accept(".file")) {
    take();
    take();
    while (accept(",")) {
      take();
    }
    return true;
  }
  if (accept(".loc")) {
    for (int i = 0; i < 3; ++i) {
      take();
    }
    while (accept(",")) {
      const std::string attribute = word();
      take();
      if (attribute == "function_name" && accept("+")) {
        take();
      } else if (attribute == "inlined_at") {
        take();
        take();
      }
    }
    return true;
  }
  if (accept(".section")) {
    word();
    skip_balanced("{", "}");
    return true;
  }
  return false;
}

}  // namespace kf
