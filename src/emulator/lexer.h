// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cstdint>
#include <string_view>

namespace kf::emulator {

// A word is an opcode, directive or name with its dots and `::` ("ld.global.v4.f32", "%tid.x", ".param").
struct Token {
  enum class Kind : std::uint8_t { kWord, kNumber, kString, kPunctuation, kEnd, kBad } kind = Kind::kEnd;
  std::string_view text;  // into the source
  int line = 0;           // of the PTX text, from 1
};

// Cuts PTX text into tokens; comments and white space are skipped. Never fails: a character that has no
// place in PTX is a token of kind kBad.
class Lexer {
 public:
  explicit Lexer(std::string_view source) : source_(source) { advance(); }
  const Token& peek() const { return current_; }
  Token next();
  bool at(std::string_view text) const { return current_.kind != Token::Kind::kString && current_.text == text; }

 private:
  void skip_blanks();
  void advance();

  std::string_view source_;
  std::size_t at_ = 0;
  int line_ = 1;
  Token current_;
};

}  // namespace kf::emulator
