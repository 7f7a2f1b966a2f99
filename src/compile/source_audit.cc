// SPDX-License-Identifier: Apache-2.0
#include "compile/source_audit.h"

#include <kfactory/audit.h>

#include <algorithm>
#include <array>
#include <utility>

#include "compile/headers.h"
#include "compile/source_lexer.h"

namespace kf {
namespace {

using Kind = SourceToken::Kind;
using Headers = std::span<const std::pair<std::string, std::string>>;

Verdict refused(SourcePosition at, std::string reason, const std::string& what) {
  Verdict verdict;
  verdict.passed = false;
  verdict.gate = Gate::kSourceAudit;
  verdict.reason = std::move(reason);
  verdict.message = "candidate.cu:" + std::to_string(at.line) + ":" + std::to_string(at.column) + ": " + what;
  return verdict;
}

// A text of the candidate in a message: short, and without anything that could look like another message.
std::string quote(std::string_view text) {
  std::string quoted = "`";
  for (const char c : text.substr(0, 60)) {
    quoted += c >= ' ' && c < 0x7f && c != '`' ? c : '?';
  }
  return quoted + (text.size() > 60 ? "...`" : "`");
}

// What no lexer rule needs to see: bytes on which compilers disagree, or that hide text from a reader.
std::optional<Verdict> audit_bytes(std::string_view source) {
  if (source.size() > kMaxSourceBytes) {
    return refused({}, "too_long",
                   "the file has " + std::to_string(source.size()) + " bytes; at most " +
                       std::to_string(kMaxSourceBytes) + " are allowed");
  }
  SourcePosition at;
  for (std::size_t i = 0; i < source.size(); ++i, ++at.column) {
    const auto c = static_cast<unsigned char>(source[i]);
    const char next = i + 1 < source.size() ? source[i + 1] : '\n';
    if (c == '\n') {
      ++at.line;
      at.column = 0;
    } else if ((c < ' ' && c != '\t' && c != '\r') || c == 0x7f || (c == '\r' && next != '\n')) {
      return refused(at, "control_character",
                     "control character " + std::to_string(c) + "; only tab and line ends are allowed");
    } else if (c == '\\' && (next == ' ' || next == '\t')) {
      const std::size_t end = source.find_first_not_of(" \t\r", i + 1);
      if (end == source.npos || source[end] == '\n') {
        return refused(at, "splice",
                       "a blank between a backslash and the end of its line: compilers disagree on "
                       "whether the lines are joined; remove the blank");
      }
    } else if (c == '?' && (source.substr(i, 3) == "?\?=" || source.substr(i, 3) == "?\?/")) {
      return refused(at, "trigraph", "a trigraph; write the character itself");
    }
  }
  return std::nullopt;
}

constexpr std::array kDirectives = {"define", "undef", "if",      "ifdef",    "ifndef", "elif",
                                    "else",   "endif", "elifdef", "elifndef", "error",  "warning"};
constexpr std::array kPragmas = {
    "once",          "unroll",          "nounroll",      "nv_diag_suppress", "nv_diag_default",      "nv_diagnostic",
    "nv_diag_error", "nv_diag_warning", "diag_suppress", "diag_default",     "nv_exec_check_disable"};
// Identifiers that ask about files, or make a build depend on when and where it is made.
constexpr std::array kIdentifiers = {"__has_include", "__has_include_next", "__has_embed", "__DATE__", "__TIME__",
                                     "__TIMESTAMP__", "__include_next",     "_Pragma",     "__pragma"};

// Calls whose texts never become part of a diagnostic. (What printf does is the binary audit's to refuse.)
constexpr std::array kQuiet = {"asm", "__asm__", "__asm", "printf"};

template <class Words>
bool contains(const Words& words, std::string_view word) {
  return std::ranges::find(words, word) != words.end();
}

class SourceAudit {
 public:
  SourceAudit(std::string_view source, Headers headers) : lexer_(source), headers_(headers) {}

  std::optional<Verdict> run() {
    bool line_start = true;
    for (SourceToken token = lexer_.next(); token.kind != Kind::kEnd; token = lexer_.next()) {
      std::optional<Verdict> verdict;
      if (line_start && token.kind == Kind::kPunctuator && token.text == "#") {
        verdict = directive(token);
      } else if (line_start && token.kind == Kind::kIdentifier && (token.text == "import" || token.text == "module")) {
        verdict = refused(token.at, "directive", "C++ modules are not available to candidates; use #include");
      } else {
        verdict = plain(token);
      }
      if (verdict) {
        return verdict;
      }
      line_start = token.kind == Kind::kNewline || ended_line_;
      ended_line_ = false;
    }
    if (const auto& problem = lexer_.problem()) {
      return refused(problem->at, "unreadable",
                     problem->what + "; it cannot be said what the compiler would make of it");
    }
    return std::nullopt;
  }

 private:
  std::optional<Verdict> plain(const SourceToken& token) {
    follow_asm(token);
    if (token.kind == Kind::kIdentifier && contains(kIdentifiers, token.text)) {
      return refused(token.at, "forbidden_name", token.text + " is not available to candidates");
    }
    if (token.kind == Kind::kString && token.text.find(".include") != token.text.npos) {
      return refused(token.at, "include", "PTX `.include` in a string literal; inline PTX may not read files");
    }
    if (token.raw && raw_with_directive(token.text)) {
      return refused(token.at, "raw_string", "a line of this raw string literal begins with `#`; write it without");
    }
    if (token.kind == Kind::kString && asm_depth_ == 0 && has_line_break(token)) {
      return refused(
          token.at, "string",
          "a string literal outside of asm() with a line break or a numeric escape: it could forge lines of the "
          "compiler's log; leave it out");
    }
    return std::nullopt;
  }

  // A literal anywhere else may become part of a diagnostic, by a static assertion or an attribute.
  void follow_asm(const SourceToken& token) {
    if (token.kind == Kind::kIdentifier && contains(kQuiet, token.text)) {
      asm_pending_ = true;
    } else if (token.text == "(" && token.kind == Kind::kPunctuator && (asm_pending_ || asm_depth_ > 0)) {
      ++asm_depth_;
      asm_pending_ = false;
    } else if (token.text == ")" && token.kind == Kind::kPunctuator && asm_depth_ > 0) {
      --asm_depth_;
    } else if (asm_pending_ && token.kind != Kind::kNewline && token.kind != Kind::kIdentifier) {
      asm_pending_ = false;
    }
  }

  static bool has_line_break(const SourceToken& token) {
    if (token.raw) {
      return token.text.find('\n') != token.text.npos;
    }
    for (std::size_t at = token.text.find('\\'); at != token.text.npos; at = token.text.find('\\', at + 2)) {
      if (at + 1 < token.text.size() && std::string_view("\\\"'t").find(token.text[at + 1]) == std::string_view::npos) {
        return true;
      }
    }
    return false;
  }

  static bool raw_with_directive(std::string_view text) {
    for (std::size_t end = text.find('\n'); end != text.npos; end = text.find('\n', end + 1)) {
      const std::size_t first = text.find_first_not_of(" \t", end + 1);
      if (first != text.npos && (text[first] == '#' || text.substr(first, 2) == "%:")) {
        return true;
      }
    }
    return false;
  }

  // Reads one directive to the end of its line.
  std::optional<Verdict> directive(const SourceToken& hash) {
    const SourceToken name = lexer_.next();
    if (name.kind == Kind::kNewline || name.kind == Kind::kEnd) {
      ended_line_ = true;
      return std::nullopt;  // an empty directive does nothing
    }
    if (name.text == "include") {
      return include(hash);
    }
    if (name.text == "pragma") {
      return pragma();
    }
    if (name.kind == Kind::kNumber || !contains(kDirectives, name.text)) {
      return refused(hash.at, "directive",
                     "the directive " + quote("#" + name.text) +
                         " is not available to candidates; allowed are include, define, undef, "
                         "if and its relatives, error, warning, pragma");
    }
    const int outer_depth = std::exchange(asm_depth_, 0);  // a macro's text stands for itself
    asm_pending_ = false;
    auto verdict = name.text == "define" || name.text == "undef" ? macro_name() : std::nullopt;
    if (!verdict && !ended_line_) {
      verdict = rest_of_line(name.text == "error" || name.text == "warning");
    }
    asm_depth_ = outer_depth;
    asm_pending_ = false;
    return verdict;
  }

  // `asm` must mean asm, or follow_asm() would be wrong; the same of printf.
  std::optional<Verdict> macro_name() {
    const SourceToken name = lexer_.next();
    ended_line_ = name.kind == Kind::kNewline;
    if (contains(kQuiet, name.text)) {
      return refused(name.at, "forbidden_name", name.text + " may not be a macro");
    }
    return ended_line_ ? std::nullopt : plain(name);
  }

  std::optional<Verdict> rest_of_line(bool free_text) {
    for (SourceToken token = lexer_.next(); token.kind != Kind::kEnd; token = lexer_.next()) {
      if (token.kind == Kind::kNewline) {
        ended_line_ = true;
        return std::nullopt;
      }
      if (token.raw && token.text.find('\n') != token.text.npos) {
        return refused(token.at, "raw_string", "a raw string literal over several lines inside a directive");
      }
      if (auto verdict = free_text ? std::nullopt : plain(token)) {
        return verdict;
      }
    }
    return std::nullopt;
  }

  std::optional<Verdict> include(const SourceToken& hash) {
    const std::optional<SourceToken> token = lexer_.next_header_name();
    if (!token) {
      if (lexer_.problem()) {
        return std::nullopt;
      }
      return refused(hash.at, "include", "an #include whose file is computed by a macro; write the name itself");
    }
    const std::string name = token->text.substr(1, token->text.size() - 2);
    const bool ours = std::ranges::any_of(headers_, [&](const auto& header) { return header.first == name; });
    if (!ours && !is_allowed_header(name)) {
      return refused(token->at, "include",
                     quote(token->text) + " is not a header that candidates may include; allowed are " +
                         std::string(allowed_headers_text()));
    }
    return rest_of_line(false);
  }

  std::optional<Verdict> pragma() {
    const SourceToken name = lexer_.next();
    if (name.kind == Kind::kNewline) {
      ended_line_ = true;
      return std::nullopt;
    }
    if (!contains(kPragmas, name.text)) {
      return refused(name.at, "pragma",
                     "the pragma " + quote(name.text) +
                         " is not available to candidates; allowed are unroll, nounroll, once, "
                         "nv_diag_suppress and its relatives");
    }
    return rest_of_line(false);
  }

  SourceLexer lexer_;
  Headers headers_;
  bool ended_line_ = false;
  bool asm_pending_ = false;  // behind `asm`, before its parenthesis
  int asm_depth_ = 0;         // of parentheses inside asm( ... )
};

}  // namespace

std::optional<Verdict> audit_source_with(std::string_view source, Headers headers) {
  if (auto verdict = audit_bytes(source)) {
    return verdict;
  }
  return SourceAudit(source, headers).run();
}

std::optional<Verdict> audit_source(std::string_view source) {
  return audit_source_with(source, {});
}

}  // namespace kf
