// SPDX-License-Identifier: Apache-2.0
#include "lexer.h"

namespace kf::emulator {
namespace {

bool is_digit(char c) {
  return c >= '0' && c <= '9';
}
bool is_letter(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
}
bool starts_word(char c) {
  return is_letter(c) || c == '_' || c == '$' || c == '%' || c == '.';
}
bool continues_word(char c) {
  return starts_word(c) || is_digit(c);
}

}  // namespace

Token Lexer::next() {
  const Token token = current_;
  advance();
  return token;
}

void Lexer::skip_blanks() {
  while (at_ < source_.size()) {
    const char c = source_[at_];
    if (c == '\n') {
      ++line_;
      ++at_;
    } else if (c == ' ' || c == '\t' || c == '\r' || c == '\f' || c == '\v') {
      ++at_;
    } else if (source_.substr(at_, 2) == "//") {
      while (at_ < source_.size() && source_[at_] != '\n') ++at_;
    } else if (source_.substr(at_, 2) == "/*") {
      at_ += 2;
      while (at_ < source_.size() && source_.substr(at_, 2) != "*/") line_ += source_[at_++] == '\n';
      at_ = at_ + 2 < source_.size() ? at_ + 2 : source_.size();
    } else {
      return;
    }
  }
}

void Lexer::advance() {
  skip_blanks();
  current_ = {Token::Kind::kEnd, {}, line_};
  if (at_ >= source_.size()) return;
  const std::size_t begin = at_;
  const char first = source_[at_++];
  auto here = [&](std::size_t ahead = 0) { return at_ + ahead < source_.size() ? source_[at_ + ahead] : '\0'; };
  if (is_digit(first)) {
    current_.kind = Token::Kind::kNumber;
    while (continues_word(here()) ||
           ((here() == '+' || here() == '-') && (source_[at_ - 1] == 'e' || source_[at_ - 1] == 'E') &&
            source_.substr(begin, 2) != "0x" && source_.substr(begin, 2) != "0X" &&
            source_.substr(begin, at_ - begin).find('.') != std::string_view::npos))
      ++at_;
  } else if (starts_word(first)) {
    current_.kind = Token::Kind::kWord;
    while (continues_word(here()) || (here() == ':' && here(1) == ':')) at_ += here() == ':' ? 2 : 1;
  } else if (first == '"') {
    current_.kind = Token::Kind::kString;
    while (at_ < source_.size() && source_[at_] != '"') {
      line_ += source_[at_] == '\n';
      at_ += source_[at_] == '\\' ? 2 : 1;
    }
    at_ = at_ < source_.size() ? at_ + 1 : source_.size();
  } else {
    current_.kind = std::string_view("{}()[]<>,;:|@!+-*=~").find(first) != std::string_view::npos
                        ? Token::Kind::kPunctuation
                        : Token::Kind::kBad;
  }
  current_.text = source_.substr(begin, at_ - begin);
}

}  // namespace kf::emulator
