// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cstdio>
#include <functional>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace kf {

// What stands at the other end of a stream: decided once, from the descriptor and the environment.
struct Terminal {
  bool live = false;    // a terminal: one line may be rewritten
  bool colour = false;  // ... and NO_COLOR is not set, TERM is not "dumb"
  int columns = 120;    // COLUMNS, else what the terminal says; for a pipe what still reads well
};
Terminal terminal_of(std::FILE* stream,
                     const std::function<std::optional<std::string>(const std::string&)>& environment);

enum class Ink { kPlain, kGood, kBad, kDim, kStrong };

// Text with control characters made visible: what candidates and models wrote never moves the cursor.
std::string printable(std::string_view text);
// First line only, cut to `columns` with an ellipsis.
std::string cut_line(std::string_view text, std::size_t columns);

// Lines of at most `columns`, broken at blanks; a word that is longer than a line, after a comma, slash or underscore,
// else anywhere.
std::vector<std::string> wrapped(std::string text, std::size_t columns);

// Columns as wide as their widest cell; numbers to the right. Where `columns` is given, heads that are wider than what
// stands below them are broken at blanks, then the widest text columns become narrower until a line fits, as far as 12
// columns each: their cells go on in further lines. Nothing is left out, and figures stay whole.
class Table {
 public:
  explicit Table(std::vector<std::string> header) : rows_{std::move(header)} {}
  void add(std::vector<std::string> row) { rows_.push_back(std::move(row)); }
  std::vector<std::string> lines(std::size_t columns = 0) const;

 private:
  bool right(std::size_t column) const;
  std::vector<bool> figures(std::size_t columns) const;  // right() of each
  std::vector<std::size_t> widths(std::size_t columns) const;
  std::vector<std::vector<std::string>> rows_;
};

// Lines to stdout; on a terminal also one live line below them. Thread-safe.
class Console {
 public:
  Console(std::FILE* stream, Terminal terminal) : stream_(stream), terminal_(terminal) {}
  ~Console() { clear(); }

  void line(std::string_view text, Ink ink = Ink::kPlain);
  // Replaces the live line; does nothing where there is no terminal.
  void progress(std::string_view text);
  // Each line of the table, no wider than Terminal::columns where its columns allow.
  void table(const Table& table);
  void clear();
  std::string inked(std::string_view text, Ink ink) const;
  const Terminal& terminal() const { return terminal_; }
  // errno of the first write that failed; 0: none did, or the reader is gone, which is its own affair.
  int failure() const { return failure_; }

 private:
  void write(std::string_view text);
  std::FILE* stream_;
  Terminal terminal_;
  std::mutex mutex_;
  bool showing_ = false;
  int failure_ = 0;
};

// "12.3 us": four significant digits and a unit that fits.
std::string time_text(double nanoseconds);
// "1.234x", "1.234x estimate"; "-" for 0.
std::string ratio_text(double value, bool estimate = false);

}  // namespace kf
