// SPDX-License-Identifier: Apache-2.0
#include "console.h"

#include <fmt/format.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <numeric>

#include "model/call_text.h"

namespace kf {
namespace {

// Code points, which is near enough to columns for the texts that are shown here.
std::size_t width(std::string_view text) {
  return static_cast<std::size_t>(
      std::ranges::count_if(text, [](char c) { return (static_cast<unsigned char>(c) & 0xC0) != 0x80; }));
}

// A figure with its unit; a sentence that begins with a number is longer.
bool numeric(std::string_view cell) {
  constexpr std::size_t kLongest = 24;
  return !cell.empty() && cell.size() <= kLongest &&
         ((cell.front() >= '0' && cell.front() <= '9') || cell.front() == '+');
}

// Where the first `columns` code points end.
std::size_t bytes_of_columns(std::string_view text, std::size_t columns) {
  std::size_t bytes = 0;
  for (; bytes < text.size() && columns > 0; --columns) {
    do {
      ++bytes;
    } while (bytes < text.size() && (static_cast<unsigned char>(text[bytes]) & 0xC0) == 0x80);
  }
  return bytes;
}

std::size_t longest_word(std::string_view text) {
  std::size_t longest = 0;
  for (std::size_t from = 0; from < text.size();) {
    const std::size_t end = std::min(text.find(' ', from), text.size());
    longest = std::max(longest, width(text.substr(from, end - from)));
    from = end + 1;
  }
  return longest;
}

std::string_view code(Ink ink) {
  switch (ink) {
    case Ink::kGood:
      return "\033[32m";
    case Ink::kBad:
      return "\033[31m";
    case Ink::kDim:
      return "\033[2m";
    case Ink::kStrong:
      return "\033[1m";
    case Ink::kPlain:
      break;
  }
  return "";
}

}  // namespace

Terminal terminal_of(std::FILE* stream,
                     const std::function<std::optional<std::string>(const std::string&)>& environment) {
  Terminal terminal;
  const std::string term = environment("TERM").value_or("");
  terminal.live = isatty(fileno(stream)) != 0 && term != "dumb";
  terminal.colour = terminal.live && environment("NO_COLOR").value_or("").empty();
  if (const std::optional<std::string> columns = environment("COLUMNS")) {
    int given = 0;
    const auto [end, error] = std::from_chars(columns->data(), columns->data() + columns->size(), given);
    if (error == std::errc() && end == columns->data() + columns->size() && given > 0) {
      terminal.columns = given;
      return terminal;
    }
  }
  winsize size{};
  if (ioctl(fileno(stream), TIOCGWINSZ, &size) == 0 && size.ws_col > 0) {
    terminal.columns = size.ws_col;
  }
  return terminal;
}

std::string printable(std::string_view text) {
  std::string shown;
  for (const char c : clean_text(text)) {  // bytes that are no UTF-8 would break whoever reads our output
    const auto byte = static_cast<unsigned char>(c);
    if (byte >= 0x20 && byte != 0x7f) {
      shown += c;
    } else if (c == '\n') {
      shown += c;
    } else {
      shown += c == '\t' ? std::string("  ") : fmt::format("\\x{:02x}", byte);
    }
  }
  return shown;
}

std::string cut_line(std::string_view text, std::size_t columns) {
  std::string line = printable(text.substr(0, text.find('\n')));
  if (width(line) <= columns) {
    return line;
  }
  return line.substr(0, bytes_of_columns(line, columns < 3 ? 0 : columns - 3)) + "...";
}

std::vector<std::string> wrapped(std::string text, std::size_t columns) {
  columns = std::max<std::size_t>(columns, 1);
  std::ranges::replace(text, '\n', ' ');
  std::vector<std::string> lines;
  while (width(text) > columns) {
    const std::size_t most = bytes_of_columns(text, columns);
    std::size_t end = text.rfind(' ', most);
    if (end == std::string::npos || end == 0) {
      const std::size_t joint = text.find_last_of(",/_", most - 1);
      end = joint == std::string::npos ? most : joint + 1;
    }
    lines.push_back(text.substr(0, end));
    text.erase(0, end);
    text.erase(0, text.find_first_not_of(' '));
  }
  lines.push_back(std::move(text));
  return lines;
}

void Console::write(std::string_view text) {
  errno = 0;
  const bool written = std::fwrite(text.data(), 1, text.size(), stream_) == text.size();
  if ((std::fflush(stream_) != 0 || !written) && failure_ == 0 && errno != EPIPE) {
    failure_ = errno;
  }
}

void Console::line(std::string_view text, Ink ink) {
  clear();
  const std::lock_guard lock(mutex_);
  const std::string shown = inked(printable(text), ink) + "\n";
  write(shown);
}

void Console::progress(std::string_view text) {
  if (!terminal_.live) {
    return;
  }
  const std::lock_guard lock(mutex_);
  const std::string shown =
      "\r\033[K" + inked(cut_line(text, static_cast<std::size_t>(std::max(terminal_.columns - 1, 10))), Ink::kDim);
  write(shown);
  showing_ = true;
}

void Console::clear() {
  const std::lock_guard lock(mutex_);
  if (showing_) {
    write("\r\033[K");
    showing_ = false;
  }
}

std::string Console::inked(std::string_view text, Ink ink) const {
  return terminal_.colour && ink != Ink::kPlain ? std::string(code(ink)) + std::string(text) + "\033[0m"
                                                : std::string(text);
}

void Console::table(const Table& table) {
  for (const std::string& text : table.lines(static_cast<std::size_t>(std::max(terminal_.columns, 1)))) {
    line(text);
  }
}

// A column is of figures when every cell below its head is one, or "-" for none.
bool Table::right(std::size_t column) const {
  bool any = false;
  for (std::size_t i = 1; i < rows_.size(); ++i) {
    const std::string_view cell = column < rows_[i].size() ? std::string_view(rows_[i][column]) : "-";
    if (cell != "-" && !numeric(cell)) {
      return false;
    }
    any = any || cell != "-";
  }
  return any;
}

std::vector<bool> Table::figures(std::size_t columns) const {
  std::vector<bool> figures(columns);
  for (std::size_t i = 0; i < columns; ++i) {
    figures[i] = right(i);
  }
  return figures;
}

std::vector<std::size_t> Table::widths(std::size_t columns) const {
  constexpr std::size_t kLeast = 12;
  std::vector<std::size_t> widths, below;  // below: without heads, but for the longest word of each
  for (const std::vector<std::string>& row : rows_) {
    widths.resize(std::max(widths.size(), row.size()));
    below.resize(widths.size());
    for (std::size_t i = 0; i < row.size(); ++i) {
      widths[i] = std::max(widths[i], width(row[i]));
      below[i] = std::max(below[i], &row == &rows_.front() ? longest_word(row[i]) : width(row[i]));
    }
  }
  const std::size_t gaps = widths.empty() ? 0 : 2 * (widths.size() - 1);
  const std::vector<bool> figures = this->figures(widths.size());
  // The widest column that may become narrower, in turns until a line fits or none is left.
  const auto narrow = [&](const auto& may) {
    while (columns > 0 && std::accumulate(widths.begin(), widths.end(), gaps) > columns) {
      std::size_t widest = widths.size();
      for (std::size_t i = 0; i < widths.size(); ++i) {
        if (may(i) && (widest == widths.size() || widths[i] > widths[widest])) {
          widest = i;
        }
      }
      if (widest == widths.size()) {
        return;
      }
      --widths[widest];
    }
  };
  narrow([&](std::size_t i) { return widths[i] > below[i]; });
  narrow([&](std::size_t i) { return !figures[i] && widths[i] > kLeast; });
  return widths;
}

std::vector<std::string> Table::lines(std::size_t columns) const {
  const std::vector<std::size_t> widths = this->widths(columns);
  const std::vector<bool> figures = this->figures(widths.size());
  std::vector<std::string> lines;
  for (const std::vector<std::string>& row : rows_) {
    std::vector<std::vector<std::string>> cells;
    std::size_t height = 0;
    for (std::size_t i = 0; i < row.size(); ++i) {
      cells.push_back(wrapped(row[i], widths[i]));
      height = std::max(height, cells.back().size());
    }
    for (std::size_t at = 0; at < height; ++at) {
      std::string line;
      for (std::size_t i = 0; i < cells.size(); ++i) {
        const std::string cell = at < cells[i].size() ? cells[i][at] : "";
        const std::string pad(widths[i] - std::min(widths[i], width(cell)), ' ');
        line += (i == 0 ? "" : "  ") + (figures[i] ? pad + cell : cell + pad);
      }
      line.erase(line.find_last_not_of(' ') + 1);
      lines.push_back(std::move(line));
    }
  }
  return lines;
}

std::string time_text(double nanoseconds) {
  if (nanoseconds <= 0) {
    return "-";
  }
  if (nanoseconds < 1e3) {
    return fmt::format("{:.4g} ns", nanoseconds);
  }
  return nanoseconds < 1e6 ? fmt::format("{:.4g} us", nanoseconds / 1e3) : fmt::format("{:.4g} ms", nanoseconds / 1e6);
}

std::string ratio_text(double value, bool estimate) {
  return value <= 0 ? "-" : fmt::format("{:.3f}x{}", value, estimate ? " estimate" : "");
}

}  // namespace kf
