// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <string>
#include <string_view>
#include <vector>

#include <kfactory/error.h>

#include "compile/ptx_lexer.h"

namespace kf {

// Where the text stopped making sense. Thrown by a cursor only, and caught where the reading began.
struct UnreadablePtx {
  Error error;
};

// A place in the tokens of a PTX text, and the steps that a reader takes from it.
class PtxCursor {
 public:
  // `tokens` end with one of kind kEnd.
  explicit PtxCursor(std::vector<PtxToken> tokens) : tokens_(std::move(tokens)) {}

  // Behind the last token there is kEnd, however far one looks.
  const PtxToken& peek(std::size_t ahead = 0) const;
  // Is this the text of the token? A string is never taken for a word.
  bool is(std::string_view text, std::size_t ahead = 0) const;
  PtxToken take();
  // Takes it if it is there.
  bool accept(std::string_view text);
  void expect(std::string_view text);
  std::string word();
  // From `open` to the `close` that belongs to it.
  void skip_balanced(std::string_view open, std::string_view close);
  // .file, .loc or .section, which only help debuggers. False: there is none here.
  bool skip_debug_directive();
  [[noreturn]] void fail(const std::string& what) const;

 private:
  std::vector<PtxToken> tokens_;
  std::size_t at_ = 0;
};

}  // namespace kf
