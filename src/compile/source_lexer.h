// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cstddef>
#include <optional>
#include <string>
#include <string_view>

namespace kf {

// Where in the source something was found; counted from 1, columns in bytes.
struct SourcePosition {
  int line = 1, column = 1;
};

struct SourceToken {
  enum class Kind { kIdentifier, kNumber, kString, kCharacter, kPunctuator, kNewline, kEnd } kind = Kind::kEnd;
  std::string text;  // spelled with line splices removed; of strings: the whole literal
  SourcePosition at;
  bool raw = false;  // kString: a raw string literal
};

// Preprocessing tokens of C++ as the compiler's front end sees them: line splices, comments, raw strings, digraphs,
// digit separators. What compilers disagree on (a blank after a splice, a lone carriage return, a literal that is not
// closed on its line) is an error here instead of a guess.
class SourceLexer {
 public:
  explicit SourceLexer(std::string_view source) : source_(source) {}
  SourceToken next();
  // A header name, directly after `include`: <...> or "...", with its delimiters. nullopt: something else is there.
  std::optional<SourceToken> next_header_name();

  struct Problem {
    SourcePosition at;
    std::string what;
  };
  // The first thing that cannot be read without doubt; next() gives kEnd from there on.
  const std::optional<Problem>& problem() const { return problem_; }

 private:
  int peek(int ahead = 0);  // the character `ahead` of the current one, splices skipped; -1 at the end
  int take();
  bool skip_splices(std::size_t& at) const;
  void skip_blanks_and_comments();
  SourceToken identifier_or_literal(SourcePosition at);
  SourceToken number(SourcePosition at);
  SourceToken quoted(SourcePosition at, std::string prefix);
  SourceToken raw_string(SourcePosition at, std::string prefix);
  SourceToken fail(SourcePosition at, std::string what);
  void advance_position(std::size_t from, std::size_t to);

  std::string_view source_;
  std::size_t at_ = 0;
  SourcePosition position_;
  std::optional<Problem> problem_;
};

}  // namespace kf
