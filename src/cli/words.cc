// SPDX-License-Identifier: Apache-2.0
#include "words.h"

namespace kf {
namespace {

bool blank(char c) {
  return c == ' ' || c == '\t' || c == '\n' || c == '\r';
}

}  // namespace

OrError<std::vector<std::string>> words_of(std::string_view text) {
  std::vector<std::string> words;
  bool inside = false;  // a word: '' is one too
  char quote = '\0';
  for (std::size_t i = 0; i < text.size(); ++i) {
    const char c = text[i];
    if (quote == '\0' && blank(c)) {
      inside = false;
      continue;
    }
    if (!inside) {
      words.emplace_back();
      inside = true;
    }
    if (c == quote) {
      quote = '\0';
    } else if (quote == '\0' && (c == '\'' || c == '"')) {
      quote = c;
    } else if (c == '\\' && quote != '\'' && i + 1 < text.size()) {
      words.back() += text[++i];
    } else {
      words.back() += c;
    }
  }
  if (quote != '\0') {
    return std::unexpected(Error{"", "the quote " + std::string(1, quote) + " is not closed in: " + std::string(text),
                                 "words are separated by blanks; quote those that hold blanks"});
  }
  return words;
}

std::string quoted(const std::vector<std::string>& words) {
  std::string text;
  for (const std::string& word : words) {
    text += text.empty() ? "" : " ";
    if (!word.empty() && word.find_first_of(" \t\n\r'\"\\") == std::string::npos) {
      text += word;
      continue;
    }
    text += '"';
    for (const char c : word) {
      text += c == '"' || c == '\\' ? std::string{'\\', c} : std::string(1, c);
    }
    text += '"';
  }
  return text;
}

std::string shell_quoted(std::string_view word) {
  constexpr std::string_view kPlain = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_@%+=:,./-";
  if (!word.empty() && word.find_first_not_of(kPlain) == std::string_view::npos) {
    return std::string(word);
  }
  std::string text = "'";
  for (const char c : word) {
    text += c == '\'' ? "'\\''" : std::string(1, c);
  }
  return text + "'";
}

}  // namespace kf
