// SPDX-License-Identifier: Apache-2.0
// Finds the launch plan in a candidate file.
#include <kfactory/plan.h>

#include <algorithm>
#include <string_view>

#include "plan_reader.h"

namespace kf {
namespace {

constexpr std::string_view kMark = "/*kfactory";
constexpr std::size_t kMaxSourceBytes = 1u << 20;

// Walks C++ text just well enough to tell comments from literals.
class CommentScanner {
 public:
  explicit CommentScanner(std::string_view text) : text_(text) {}

  // Offset of the next comment that opens with /*kfactory; npos: none left.
  std::size_t next() {
    while (at_ < text_.size()) {
      const std::string_view rest = text_.substr(at_);
      if (rest.starts_with("//")) {
        skip_past("\n", 2);
      } else if (rest.starts_with("/*")) {
        const std::size_t found = at_;
        skip_past("*/", 2);
        if (rest.starts_with(kMark)) {
          return found;
        }
      } else if (rest.starts_with("R\"") && !follows_identifier()) {
        skip_raw_string();
      } else if (rest[0] == '"' || (rest[0] == '\'' && !follows_identifier())) {  // 1'000 is no literal
        skip_literal(rest[0]);
      } else {
        ++at_;
      }
    }
    return std::string_view::npos;
  }

 private:
  bool follows_identifier() const {
    const char before = at_ == 0 ? ' ' : text_[at_ - 1];
    return (before >= 'a' && before <= 'z') || (before >= 'A' && before <= 'Z') || (before >= '0' && before <= '9') ||
           before == '_';
  }
  void skip_past(std::string_view end, std::size_t opening) {
    const std::size_t found = text_.find(end, at_ + opening);
    at_ = found == std::string_view::npos ? text_.size() : found + end.size();
  }
  void skip_literal(char quote) {
    for (++at_; at_ < text_.size() && text_[at_] != quote && text_[at_] != '\n'; ++at_) {
      at_ += text_[at_] == '\\' ? 1 : 0;
    }
    at_ = std::min(at_ + 1, text_.size());
  }
  void skip_raw_string() {
    const std::size_t open = text_.find('(', at_);
    const std::string_view delimiter =
        open == std::string_view::npos ? "" : text_.substr(at_ + 2, std::min<std::size_t>(open - at_ - 2, 17));
    if (open == std::string_view::npos || delimiter.size() > 16) {
      at_ += 2;
      return;
    }
    skip_past(")" + std::string(delimiter) + "\"", open - at_ + 1);
  }

  std::string_view text_;
  std::size_t at_ = 0;
};

int line_at(std::string_view text, std::size_t offset) {
  return 1 + static_cast<int>(std::ranges::count(text.substr(0, offset), '\n'));
}

std::unexpected<Errors> refuse(const std::string& name, int line, std::string what, std::string hint) {
  return std::unexpected(Errors{{name + ":" + std::to_string(line), std::move(what), std::move(hint)}});
}

}  // namespace

OrErrors<Candidate> parse_candidate(std::string_view source, const std::string& name) {
  if (source.size() > kMaxSourceBytes) {
    return refuse(name, 1,
                  "the file has " + std::to_string(source.size()) + " bytes, at most " +
                      std::to_string(kMaxSourceBytes) + " are allowed",
                  "");
  }
  if (source.starts_with("\xEF\xBB\xBF")) {  // a byte order mark is no token for the compiler
    source.remove_prefix(3);
  }
  CommentScanner scanner(source);
  const std::size_t found = scanner.next();
  if (found == std::string_view::npos) {
    return refuse(name, 1, "there is no launch plan", "start the file with /*kfactory { \"plan\": 1, ... } */");
  }
  const std::size_t second = scanner.next();
  if (second != std::string_view::npos) {
    return refuse(name, line_at(source, second),
                  "a second launch plan; the first is in line " + std::to_string(line_at(source, found)),
                  "keep one /*kfactory comment");
  }
  const std::size_t begin = found + kMark.size();
  const std::size_t end = source.find("*/", begin);
  if (end == std::string_view::npos) {
    return refuse(name, line_at(source, found), "the launch plan's comment does not end", "close it with */");
  }
  OrErrors<LaunchPlan> plan = read_plan(source.substr(begin, end - begin), name, line_at(source, begin));
  if (!plan) {
    return std::unexpected(std::move(plan.error()));
  }
  plan->json_begin = source.find(plan->json, begin);
  return Candidate{std::move(*plan), std::string(source)};
}

OrErrors<LaunchPlan> parse_plan(std::string_view json, const std::string& where) {
  return read_plan(json, where, 1);
}

}  // namespace kf
