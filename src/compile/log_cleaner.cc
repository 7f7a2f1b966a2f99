// SPDX-License-Identifier: Apache-2.0
#include "compile/log_cleaner.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <optional>

#include "compile/options.h"

namespace kf {
namespace {

constexpr std::size_t kMaxLineBytes = 400;
constexpr std::size_t kMaxQuotedBytes = 80;
constexpr std::size_t kMaxWarnings = 10;
constexpr std::size_t kMaxLocated = 20;  // diagnostics whose PTX line is looked up: each reads the PTX once

std::vector<std::string_view> lines_of(std::string_view text) {
  std::vector<std::string_view> lines;
  while (!text.empty()) {
    const std::size_t end = text.find('\n');
    lines.push_back(text.substr(0, end));
    text.remove_prefix(end == text.npos ? text.size() : end + 1);
  }
  return lines;
}

std::string_view trim(std::string_view text) {
  const std::size_t first = text.find_first_not_of(" \t\r");
  return first == text.npos ? std::string_view{} : text.substr(first, text.find_last_not_of(" \t\r") - first + 1);
}

struct Diagnostic {
  std::string file;
  int line = 0, column = 0;  // 0: not known
  std::string severity, message;
  std::vector<std::string> trail;  // where a template was instantiated
  bool error() const { return severity.find("error") != severity.npos || severity == "fatal"; }
};

constexpr std::array<std::string_view, 7> kSeverities{
    "catastrophic error", "internal error", "command-line error", "error", "warning", "remark", "note"};

// "error: text", "warning #161-D: text": the severity and the text behind it.
bool split_severity(std::string_view text, Diagnostic& diagnostic) {
  for (const std::string_view severity : kSeverities) {
    if (!text.starts_with(severity)) {
      continue;
    }
    std::string_view rest = text.substr(severity.size());
    if (rest.starts_with(" #")) {
      rest.remove_prefix(std::min(rest.find(':'), rest.size()));
    }
    if (rest.starts_with(": ")) {
      diagnostic.severity = severity == "catastrophic error" ? "error" : severity;
      diagnostic.message = trim(rest.substr(2));
      return true;
    }
  }
  return false;
}

// "file(12): error: text" or "At end of source: error: text".
std::optional<Diagnostic> parse_header(std::string_view line) {
  Diagnostic diagnostic;
  if (line.starts_with("At end of source: ")) {
    diagnostic.file = kCandidateName;
    return split_severity(line.substr(18), diagnostic) ? std::optional(diagnostic) : std::nullopt;
  }
  const std::size_t close = line.find("): ");
  const std::size_t open = close == line.npos ? line.npos : line.rfind('(', close);
  if (open == line.npos || open == 0 || line.front() == ' ') {
    return std::nullopt;
  }
  const std::string_view digits = line.substr(open + 1, close - open - 1);
  if (std::from_chars(digits.data(), digits.data() + digits.size(), diagnostic.line).ptr !=
      digits.data() + digits.size()) {
    return std::nullopt;
  }
  diagnostic.file = line.substr(0, open);
  if (diagnostic.file == "/" + std::string(kCandidateName) || diagnostic.file == "/prelude.h") {
    diagnostic.file.erase(0, 1);
  }
  return split_severity(line.substr(close + 3), diagnostic) ? std::optional(diagnostic) : std::nullopt;
}

bool is_caret(std::string_view line) {
  return line.find('^') != line.npos && line.find_first_not_of(" \t^") == line.npos;
}

// The `.loc` in front of a line of PTX, and the file that it names.
bool locate_ptx_line(std::string_view ptx, int line, Diagnostic& diagnostic) {
  std::string_view loc;
  int at = 1;
  std::string_view rest = ptx;
  for (; at <= line && !rest.empty(); ++at) {
    const std::string_view text = trim(rest.substr(0, rest.find('\n')));
    if (text.starts_with(".loc")) {
      loc = trim(text.substr(4));
    } else if (text.starts_with(".visible .entry") || text.starts_with(".func") || text.starts_with(".entry")) {
      loc = {};
    }
    rest.remove_prefix(std::min(rest.find('\n') == rest.npos ? rest.size() : rest.find('\n') + 1, rest.size()));
  }
  int file = 0, source_line = 0;
  const auto first = std::from_chars(loc.data(), loc.data() + loc.size(), file);
  const char* second = std::find_if(first.ptr, loc.data() + loc.size(), [](char c) { return c != ' ' && c != '\t'; });
  if (loc.empty() || std::from_chars(second, loc.data() + loc.size(), source_line).ec != std::errc()) {
    return false;
  }
  const std::string marker = ".file\t" + std::to_string(file) + " \"";
  const std::size_t start = ptx.find(marker);
  if (start == ptx.npos) {
    return false;
  }
  const std::string_view path =
      ptx.substr(start + marker.size(), ptx.find('"', start + marker.size()) - start - marker.size());
  diagnostic.file =
      path.ends_with(std::string("/") + kCandidateName) || path == kCandidateName ? kCandidateName : std::string(path);
  diagnostic.line = source_line;
  return true;
}

// "ptxas application ptx input, line 28; error   : text", "ptxas error   : text".
std::optional<Diagnostic> parse_ptxas(std::string_view line, std::string_view ptx) {
  if (!line.starts_with("ptxas ")) {
    return std::nullopt;
  }
  Diagnostic diagnostic;
  diagnostic.file = kCandidateName;
  std::string_view rest = trim(line.substr(6));
  const std::size_t semicolon = rest.find("; ");
  const std::size_t number = rest.find("line ");
  bool inline_ptx = false;
  if (semicolon != rest.npos && number != rest.npos && number < semicolon) {
    int ptx_line = 0;
    std::from_chars(rest.data() + number + 5, rest.data() + semicolon, ptx_line);
    rest = trim(rest.substr(semicolon + 2));
    inline_ptx = true;
    locate_ptx_line(ptx, ptx_line, diagnostic);
  }
  const std::size_t colon = rest.find(':');
  if (colon == rest.npos) {
    return std::nullopt;
  }
  diagnostic.severity = trim(rest.substr(0, colon));
  diagnostic.message = (inline_ptx ? "inline PTX: " : "ptxas: ") + std::string(trim(rest.substr(colon + 1)));
  const bool summary = diagnostic.message.find("aborted due to errors") != std::string::npos;
  return diagnostic.severity == "info" || diagnostic.severity == "." || summary ? std::nullopt
                                                                                : std::optional(diagnostic);
}

// Texts that the candidate's author chose, and that are no part of what the compiler found.
void drop_chosen_text(Diagnostic& diagnostic) {
  std::string& message = diagnostic.message;
  if (diagnostic.file != kCandidateName && diagnostic.file != "prelude.h") {
    return;  // the toolkit's own static assertions say what to do
  }
  for (const std::string_view opening :
       {"#error directive", "#warning directive", "#pragma message", "static assertion failed"}) {
    if (message.starts_with(opening)) {
      message = std::string(opening) + " (its text is not repeated here)";
      return;
    }
  }
  if (const std::size_t at = message.find("was declared deprecated"); at != message.npos) {
    message.resize(at + 23);
  }
}

std::string printable(std::string_view text) {
  std::string clean;
  std::size_t quoted = 0;
  bool inside = false;
  for (const char c : text) {
    inside = c == '"' ? !inside : inside;
    quoted = inside ? quoted + 1 : 0;
    if (quoted == kMaxQuotedBytes) {
      clean += "...";
    }
    if (quoted < kMaxQuotedBytes) {
      clean += c >= ' ' && c < 0x7f ? c : '?';
    }
  }
  return clean.substr(0, kMaxLineBytes);
}

std::string without_folders(std::string text, const LogContext& context) {
  for (const std::string& folder : context.include_folders) {
    for (std::size_t at = text.find(folder + "/"); at != text.npos; at = text.find(folder + "/", at)) {
      text.erase(at, folder.size() + 1);
    }
  }
  // Whatever else looks like an absolute path keeps its last part only.
  for (std::size_t at = text.find('/'); at != text.npos; at = text.find('/', at + 1)) {
    const bool start =
        at == 0 || text[at - 1] == '"' || text[at - 1] == ' ' || text[at - 1] == '\'' || text[at - 1] == '(';
    const std::size_t end = std::min(text.find_first_of(" \"'():;,", at), text.size());
    const std::size_t last = text.rfind('/', end - 1);
    if (start && last != text.npos && last > at) {
      text.erase(at, last - at + 1);
    }
  }
  return text;
}

std::vector<Diagnostic> parse(std::string_view raw, const LogContext& context) {
  std::vector<Diagnostic> found;
  const std::vector<std::string_view> lines = lines_of(raw);
  for (std::size_t i = 0; i < lines.size(); ++i) {
    if (auto ptxas = parse_ptxas(lines[i], found.size() < kMaxLocated ? context.ptx : std::string_view{})) {
      found.push_back(std::move(*ptxas));
      continue;
    }
    auto diagnostic = parse_header(lines[i]);
    if (!diagnostic) {
      continue;
    }
    // Behind the header: the source line, a line with a caret under it, and the trail of instantiations.
    for (; i + 1 < lines.size() && !trim(lines[i + 1]).empty() && !parse_header(lines[i + 1]); ++i) {
      if (is_caret(lines[i + 1])) {
        diagnostic->column = std::max(0, static_cast<int>(lines[i + 1].find('^')) - 1);  // the echo is indented by two
      } else if (lines[i + 1].starts_with("          ") && lines[i + 1].find(" at line ") != std::string_view::npos &&
                 diagnostic->trail.size() < 3) {
        diagnostic->trail.emplace_back(trim(lines[i + 1]));
      }
    }
    drop_chosen_text(*diagnostic);
    found.push_back(std::move(*diagnostic));
  }
  return found;
}

std::string one_line(const Diagnostic& diagnostic, const LogContext& context) {
  std::string text = without_folders(diagnostic.file, context);
  if (diagnostic.line > 0) {
    text += ":" + std::to_string(diagnostic.line);
    text += diagnostic.column > 0 ? ":" + std::to_string(diagnostic.column) : "";
  }
  text += ": " + (diagnostic.severity == "fatal" ? "error" : diagnostic.severity) + ": " +
          without_folders(printable(diagnostic.message), context);
  for (const std::string& step : diagnostic.trail) {
    text += "\n  " + without_folders(printable(step), context);
  }
  return text;
}

}  // namespace

std::string clean_log(std::string_view raw, const LogContext& context) {
  std::vector<Diagnostic> wanted = parse(raw, context);
  std::erase_if(wanted, [&](const Diagnostic& diagnostic) {
    return context.failed ? !diagnostic.error()
                          : diagnostic.error() || diagnostic.severity != "warning" || diagnostic.file != kCandidateName;
  });
  std::string text, last;
  std::size_t left_out = 0, kept = 0;
  for (const Diagnostic& diagnostic : wanted) {
    const std::string line = one_line(diagnostic, context);
    if (line == last) {
      continue;
    }
    last = line;
    if (text.size() + line.size() + 40 > kMaxLogBytes || (!context.failed && kept == kMaxWarnings)) {
      ++left_out;
      continue;
    }
    text += line + "\n";
    ++kept;
  }
  if (left_out > 0) {
    text += "... and " + std::to_string(left_out) + " more\n";
  }
  return text;
}

}  // namespace kf
