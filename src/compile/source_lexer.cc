// SPDX-License-Identifier: Apache-2.0
#include "compile/source_lexer.h"

#include <utility>

namespace kf {
namespace {

bool starts_identifier(int c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_' || c == '$' || c >= 0x80;
}
bool is_digit(int c) {
  return c >= '0' && c <= '9';
}
bool in_identifier(int c) {
  return starts_identifier(c) || is_digit(c);
}
bool is_raw_prefix(std::string_view text) {
  return text == "R" || text == "u8R" || text == "uR" || text == "UR" || text == "LR";
}
bool is_literal_prefix(std::string_view text) {
  return text == "u8" || text == "u" || text == "U" || text == "L";
}

}  // namespace

// Moves `at` over any number of backslash-newline pairs.
bool SourceLexer::skip_splices(std::size_t& at) const {
  bool any = false;
  for (;;) {
    if (source_.substr(at, 2) == "\\\n") {
      at += 2;
    } else if (source_.substr(at, 3) == "\\\r\n") {
      at += 3;
    } else {
      return any;
    }
    any = true;
  }
}

int SourceLexer::peek(int ahead) {
  std::size_t at = at_;
  for (;; --ahead) {
    skip_splices(at);
    if (at >= source_.size()) {
      return -1;
    }
    if (ahead == 0) {
      return static_cast<unsigned char>(source_[at]);
    }
    ++at;
  }
}

void SourceLexer::advance_position(std::size_t from, std::size_t to) {
  for (std::size_t i = from; i < to; ++i) {
    if (source_[i] == '\n') {
      ++position_.line;
      position_.column = 1;
    } else {
      ++position_.column;
    }
  }
}

int SourceLexer::take() {
  std::size_t at = at_;
  skip_splices(at);
  if (at >= source_.size()) {
    advance_position(at_, at);
    at_ = at;
    return -1;
  }
  advance_position(at_, at + 1);
  at_ = at + 1;
  return static_cast<unsigned char>(source_[at]);
}

SourceToken SourceLexer::fail(SourcePosition at, std::string what) {
  if (!problem_) {
    problem_ = Problem{at, std::move(what)};
  }
  at_ = source_.size();
  return SourceToken{SourceToken::Kind::kEnd, "", at, false};
}

void SourceLexer::skip_blanks_and_comments() {
  for (;;) {
    const int c = peek();
    if (c == ' ' || c == '\t' || c == '\r') {
      take();
    } else if (c == '/' && peek(1) == '/') {
      while (peek() != '\n' && peek() != -1) {
        take();
      }
    } else if (c == '/' && peek(1) == '*') {
      const SourcePosition start = position_;
      take();
      take();
      while (!(peek() == '*' && peek(1) == '/')) {
        if (take() == -1) {
          fail(start, "a comment that is never closed");
          return;
        }
      }
      take();
      take();
    } else {
      return;
    }
  }
}

SourceToken SourceLexer::next() {
  skip_blanks_and_comments();
  std::size_t at = at_;
  if (skip_splices(at)) {
    advance_position(at_, at);
    at_ = at;
  }
  const SourcePosition start = position_;
  const int c = peek();
  if (problem_ || c == -1) {
    return SourceToken{SourceToken::Kind::kEnd, "", start, false};
  }
  if (c == '\n') {
    take();
    return SourceToken{SourceToken::Kind::kNewline, "\n", start, false};
  }
  if (starts_identifier(c)) {
    return identifier_or_literal(start);
  }
  if (is_digit(c) || (c == '.' && is_digit(peek(1)))) {
    return number(start);
  }
  if (c == '"' || c == '\'') {
    return quoted(start, "");
  }
  std::string text(1, static_cast<char>(take()));
  // Only the punctuators whose parts would be misread alone: # ## and their digraphs.
  if ((text == "%" && peek() == ':') || (text == "#" && peek() == '#')) {
    text += static_cast<char>(take());
    if (text == "%:" && peek() == '%' && peek(1) == ':') {
      take();
      take();
      text = "##";
    }
  }
  return SourceToken{SourceToken::Kind::kPunctuator, text == "%:" ? "#" : text, start, false};
}

SourceToken SourceLexer::identifier_or_literal(SourcePosition start) {
  const std::size_t from = at_;
  std::string text;
  while (in_identifier(peek())) {
    text += static_cast<char>(take());
  }
  if (peek() == '"' && is_raw_prefix(text)) {
    std::size_t quote = at_;
    if (skip_splices(quote) || at_ - from != text.size()) {
      return fail(start, "a raw string literal whose prefix is spread over lines");
    }
    return raw_string(start, text);
  }
  if ((peek() == '"' || peek() == '\'') && is_literal_prefix(text)) {
    return quoted(start, text);
  }
  return SourceToken{SourceToken::Kind::kIdentifier, text, start, false};
}

// A preprocessing number: wider than any number, and it takes the digit separators, which are no character literals.
SourceToken SourceLexer::number(SourcePosition start) {
  std::string text;
  for (;;) {
    const int c = peek();
    const char last = text.empty() ? '\0' : text.back();
    const bool exponent = (c == '+' || c == '-') && (last == 'e' || last == 'E' || last == 'p' || last == 'P');
    const bool separator = c == '\'' && in_identifier(peek(1)) && !text.empty();
    if (!in_identifier(c) && c != '.' && !exponent && !separator) {
      return SourceToken{SourceToken::Kind::kNumber, text, start, false};
    }
    text += static_cast<char>(take());
  }
}

SourceToken SourceLexer::quoted(SourcePosition start, std::string text) {
  const int quote = take();
  text += static_cast<char>(quote);
  for (;;) {
    const int c = peek();
    if (c == '\n' || c == -1) {
      return fail(start, std::string("a ") + (quote == '"' ? "string" : "character") +
                             " literal that is not closed on its line");
    }
    text += static_cast<char>(take());
    if (c == '\\' && peek() != -1 && peek() != '\n') {
      text += static_cast<char>(take());
    } else if (c == quote) {
      const auto kind = quote == '"' ? SourceToken::Kind::kString : SourceToken::Kind::kCharacter;
      return SourceToken{kind, text, start, false};
    }
  }
}

// Splices are undone inside raw strings, so this reads the source itself.
SourceToken SourceLexer::raw_string(SourcePosition start, std::string text) {
  const std::size_t open = source_.find('(', at_);
  if (open == source_.npos || open - at_ > 17) {
    return fail(start, "a raw string literal with a bad delimiter");
  }
  const std::string_view delimiter = source_.substr(at_ + 1, open - at_ - 1);
  if (delimiter.find_first_of(" \t\n\r\\)\"") != delimiter.npos) {
    return fail(start, "a raw string literal with a bad delimiter");
  }
  const std::string closing = ")" + std::string(delimiter) + "\"";
  const std::size_t close = source_.find(closing, open + 1);
  if (close == source_.npos) {
    return fail(start, "a raw string literal that is never closed");
  }
  const std::size_t end = close + closing.size();
  text += source_.substr(at_, end - at_);
  advance_position(at_, end);
  at_ = end;
  return SourceToken{SourceToken::Kind::kString, text, start, true};
}

std::optional<SourceToken> SourceLexer::next_header_name() {
  skip_blanks_and_comments();
  const SourcePosition start = position_;
  const int open = peek();
  if (open != '<' && open != '"') {
    return std::nullopt;
  }
  const int close = open == '<' ? '>' : '"';
  std::string text(1, static_cast<char>(take()));
  while (peek() != close) {
    if (peek() == '\n' || peek() == -1) {
      fail(start, "a header name that is not closed on its line");
      return std::nullopt;
    }
    text += static_cast<char>(take());
  }
  text += static_cast<char>(take());
  return SourceToken{SourceToken::Kind::kString, text, start, false};
}

}  // namespace kf
