// SPDX-License-Identifier: Apache-2.0
#include "compile/ptx_lexer.h"

namespace kf {
namespace {

bool is_letter(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
}
bool is_digit(char c) {
  return c >= '0' && c <= '9';
}
bool starts_word(char c) {
  return is_letter(c) || c == '_' || c == '$' || c == '%' || c == '.';
}
bool in_word(char c) {
  return starts_word(c) || is_digit(c);
}

std::size_t end_of_word(std::string_view ptx, std::size_t at) {
  while (at < ptx.size()) {
    if (in_word(ptx[at])) {
      ++at;
    } else if (ptx.substr(at, 2) == "::" && at + 2 < ptx.size() && in_word(ptx[at + 2])) {
      at += 2;  // "shared::cta", never a label's colon
    } else {
      break;
    }
  }
  return at;
}

}  // namespace

OrError<std::vector<PtxToken>> read_ptx_tokens(std::string_view ptx) {
  using Kind = PtxToken::Kind;
  std::vector<PtxToken> tokens;
  int line = 1;
  const auto problem = [&line](const std::string& what) {
    return std::unexpected(Error{"PTX line " + std::to_string(line), what, ""});
  };
  for (std::size_t at = 0; at < ptx.size();) {
    const char c = ptx[at];
    if (c == '\n') {
      ++line;
      ++at;
    } else if (c == ' ' || c == '\t' || c == '\r' || c == '\f' || c == '\v') {
      ++at;
    } else if (ptx.substr(at, 2) == "//") {
      at = std::min(ptx.find('\n', at), ptx.size());
    } else if (ptx.substr(at, 2) == "/*") {
      const std::size_t end = ptx.find("*/", at + 2);
      if (end == ptx.npos) {
        return problem("a comment that is never closed");
      }
      for (; at < end + 2; ++at) {
        line += ptx[at] == '\n';
      }
    } else if (starts_word(c) && !(c == '.' && at + 1 < ptx.size() && is_digit(ptx[at + 1]))) {
      const std::size_t end = end_of_word(ptx, at);
      tokens.push_back({Kind::kWord, ptx.substr(at, end - at), line});
      at = end;
    } else if (is_digit(c) || c == '.') {
      std::size_t end = at + 1;
      while (end < ptx.size() && (is_letter(ptx[end]) || is_digit(ptx[end]) || ptx[end] == '.')) {
        ++end;
      }
      tokens.push_back({Kind::kNumber, ptx.substr(at, end - at), line});
      at = end;
    } else if (c == '"') {
      const std::size_t end = ptx.find_first_of("\"\n", at + 1);
      if (end == ptx.npos || ptx[end] == '\n') {
        return problem("a string that is not closed on its line");
      }
      tokens.push_back({Kind::kString, ptx.substr(at, end + 1 - at), line});
      at = end + 1;
    } else if (std::string_view("{}()[]<>,;:=+-*/%|@!&~^?").find(c) != std::string_view::npos) {
      tokens.push_back({Kind::kPunctuator, ptx.substr(at, 1), line});
      ++at;
    } else {
      return problem("character " + std::to_string(static_cast<unsigned char>(c)) + ", which PTX does not have");
    }
  }
  tokens.push_back({Kind::kEnd, "", line});
  return tokens;
}

}  // namespace kf
