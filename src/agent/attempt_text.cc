// SPDX-License-Identifier: Apache-2.0
#include "agent/attempt_text.h"

#include <algorithm>
#include <charconv>
#include <set>

#include "agent/case_text.h"
#include "agent/prompts.h"
#include "agent/ranking.h"

namespace kf {
namespace {

bool is_measured(const Attempt& attempt) {
  return attempt.state == AttemptState::kMeasured && attempt.score.has_value();
}

// The verdict was given in a case that models may not see.
bool is_hidden(const Verdict& verdict) {
  return !may_be_shown(verdict.case_id) || verdict.message.find("held_out") != std::string::npos;
}

std::string verdict_line(const Attempt& attempt) {
  if (attempt.state != AttemptState::kRejected) {
    return "";
  }
  std::string text = std::string(to_string(attempt.verdict.gate)) + ": " + attempt.verdict.reason;
  if (is_hidden(attempt.verdict)) {
    return text + " (in a held-out case)";
  }
  const std::string message = safe_line(attempt.verdict.message, 110);
  return safe_line(message.empty() ? text : text + ", " + message, 160);
}

std::string result_text(const Attempt& attempt) {
  if (!is_measured(attempt)) {
    return std::string(to_string(attempt.state));
  }
  const bool estimate = attempt.score->method == ClockMethod::kEstimate;
  const bool refused = attempt.score->against_baseline == Comparison::kRefused;
  return decimal(attempt.score->speedup, 3) + "x" + (estimate ? " (estimate)" : "") +
         (refused ? " (refused: does not count)" : "");
}

std::string history_row(const Attempt& attempt) {
  // The direction's name is enough; its text is long and the same for all who got it.
  const std::string direction = safe_line(attempt.direction.substr(0, attempt.direction.find(':')), 50);
  return "| " + std::to_string(attempt.id.value) + " | " +
         (attempt.parent ? std::to_string(attempt.parent->value) : "-") + " | " + std::string(to_string(attempt.role)) +
         " | " + direction + " | " + safe_line(attempt.hypothesis, 150) + " | " + result_text(attempt) + " | " +
         verdict_line(attempt) + " |\n";
}

std::string interval_us(const Interval& interval) {
  return interval.samples == 0 ? "-" : decimal(interval.median / 1000, 2);
}

double over_floor(const CaseScore& score) {
  return score.floor_nanoseconds > 0 ? score.candidate.median / score.floor_nanoseconds : 0;
}

std::string kernels_text(const Attempt& attempt) {
  std::string text;
  for (const KernelUse& use : attempt.kernels) {
    text += "- `" + safe_line(use.entry, 80) + "`: " + std::to_string(use.registers) + " registers, ";
    const int spills = use.spill_store_bytes + use.spill_load_bytes;
    text += spills == 0 ? "no spills"
                        : std::to_string(use.spill_store_bytes) + " + " + std::to_string(use.spill_load_bytes) +
                              " bytes of spill stores and loads";
    text += ", " + std::to_string(use.static_shared_bytes) + " bytes of static shared memory" +
            (use.max_threads > 0 ? ", at most " + std::to_string(use.max_threads) + " threads" : "") + "\n";
  }
  if (!attempt.tune.empty()) {
    text += "- tune values that won, of " + std::to_string(attempt.variants) + " tried:";
    for (const auto& [name, value] : attempt.tune) {
      text += " " + name + "=" + std::to_string(value);
    }
    text += "\n";
  }
  return text;
}

// Joins rows while they fit; the rest is counted.
std::string rows_within(const std::string& head, const std::vector<std::string>& rows, std::size_t bytes,
                        const char* what) {
  std::string text = head;
  std::size_t shown = 0;
  while (shown < rows.size() && text.size() + rows[shown].size() <= bytes) {
    text += rows[shown++];
  }
  if (shown < rows.size()) {
    text += "\n(" + std::to_string(rows.size() - shown) + " of " + std::to_string(rows.size()) + " " + what +
            " left out)\n";
  }
  return text;
}

std::string damage_text(const Mismatch& damage) {
  const auto index = [](const std::vector<std::int64_t>& of) {
    std::string text;
    for (const std::int64_t i : of) {
      text += (text.empty() ? "" : ", ") + std::to_string(i);
    }
    return "[" + text + "]";
  };
  std::string text = "- output `" + safe_line(damage.output, 80) + "`: " + std::to_string(damage.wrong) + " of " +
                     std::to_string(damage.elements) + " elements wrong";
  text += damage.unwritten > 0 ? ", " + std::to_string(damage.unwritten) + " of them never written" : "";
  text += damage.class_errors > 0
              ? ", " + std::to_string(damage.class_errors) + " NaN or infinite where they must not be, or the reverse"
              : "";
  text += "\n- in " + std::to_string(damage.wrong_rows) + " of the " + std::to_string(damage.rows) + " rows and " +
          std::to_string(damage.wrong_columns) + " of the " + std::to_string(damage.columns) + " columns; between " +
          index(damage.first_index) + " and " + index(damage.last_index) + "\n";
  if (!damage.shape.empty()) {
    text += "- shape of the damage: " + safe_line(damage.shape, 600) + "\n";
  }
  char worst[160];
  std::snprintf(worst, sizeof worst, "found %.9g, expected %.9g, allowed difference %.3g", damage.worst_out,
                damage.worst_ref, damage.worst_bound);
  return text + "- worst element " + index(damage.worst_index) + ": " + worst + "\n";
}

// "candidate.cu:12:3" or "candidate.cu(12)" in a message: those lines of the source.
std::string quoted_lines(std::string_view message, std::string_view source) {
  constexpr std::string_view kName = "candidate.cu";
  constexpr std::size_t kMostLines = 12;
  std::set<int> numbers;
  for (std::size_t at = message.find(kName); at != std::string_view::npos; at = message.find(kName, at + 1)) {
    const std::size_t digits = at + kName.size() + 1;
    int number = 0;
    if (digits < message.size() && (message[digits - 1] == ':' || message[digits - 1] == '(')) {
      std::from_chars(message.data() + digits, message.data() + message.size(), number);
    }
    if (number > 0 && numbers.size() < kMostLines) {
      numbers.insert(number);
    }
  }
  std::string text;
  int number = 1;
  for (std::size_t at = 0; at < source.size(); ++number) {
    const std::size_t end = std::min(source.find('\n', at), source.size());
    if (numbers.contains(number)) {
      text += std::to_string(number) + ": " + std::string(source.substr(at, end - at)) + "\n";
    }
    at = end + 1;
  }
  return text;
}

}  // namespace

const Attempt* leader_of(std::span<const Attempt> visible) {
  const std::vector<const Attempt*> order = ranked(visible);
  return order.empty() ? nullptr : order.front();
}

std::string history_text(std::span<const Attempt> visible, const AttemptId* keep, std::size_t bytes) {
  if (visible.empty()) {
    return "Nothing yet.";
  }
  constexpr std::string_view kHead =
      "| id | parent | role | direction | hypothesis | speed-up over the baseline | refused by "
      "|\n|---|---|---|---|---|---|---|\n";
  constexpr std::size_t kBest = 5;
  // The best few, then the newest.
  std::vector<const Attempt*> order = ranked(visible);
  order.resize(std::min(order.size(), kBest));
  const std::set<const Attempt*> best(order.begin(), order.end());
  for (std::size_t i = visible.size(); i-- > 0;) {
    if (!best.contains(&visible[i])) {
      order.push_back(&visible[i]);
    }
  }
  if (keep != nullptr) {
    const auto kept = std::ranges::find(order, *keep, [](const Attempt* a) { return a->id; });
    if (kept != order.end()) {
      std::rotate(order.begin(), kept, kept + 1);
    }
  }
  std::vector<const Attempt*> shown;
  std::size_t size = kHead.size();
  for (const Attempt* attempt : order) {
    size += history_row(*attempt).size();
    if (size > bytes) {
      break;
    }
    shown.push_back(attempt);
  }
  std::ranges::sort(shown, std::less<>(), [](const Attempt* a) { return a->id; });
  std::string text(kHead);
  for (const Attempt* attempt : shown) {
    text += history_row(*attempt);
  }
  if (shown.size() < visible.size()) {
    text += "\n(" + std::to_string(visible.size() - shown.size()) + " of " + std::to_string(visible.size()) +
            " attempts left out; the best and the newest are shown)";
  }
  return text;
}

std::string performance_text(const TaskView& task, const Attempt& attempt, std::size_t bytes) {
  std::string text = kernels_text(attempt);
  if (!is_measured(attempt)) {
    return text;
  }
  std::vector<const CaseScore*> cases;
  for (const CaseScore& score : attempt.score->cases) {
    if (shown_case(*task.spec, score.case_id) != nullptr) {
      cases.push_back(&score);
    }
  }
  std::ranges::sort(cases, {}, [](const CaseScore* score) { return std::pair(-over_floor(*score), score); });
  std::vector<std::string> rows;
  for (const CaseScore* score : cases) {
    std::string notes;
    for (const std::string& note : score->notes) {
      notes += (notes.empty() ? "" : "; ") + safe_line(note, 80);
    }
    rows.push_back("| " + describe_case(*task.spec, *shown_case(*task.spec, score->case_id)) + " | " +
                   interval_us(score->candidate) + " | " + interval_us(score->baseline) + " | " +
                   interval_us(score->copy) + " | " +
                   (score->floor_nanoseconds > 0 ? decimal(score->floor_nanoseconds / 1000, 2) : "-") + " | " +
                   (over_floor(*score) > 0 ? decimal(over_floor(*score), 2) : "-") + " | " + notes + " |\n");
  }
  const bool estimate = attempt.score->method == ClockMethod::kEstimate;
  const std::string head =
      std::string("Speed-up over the baseline: ") + result_text(attempt) +
      (estimate ? ". Estimates of the emulator in microseconds, not times" : ". Medians in microseconds") +
      ", farthest from its floor first; `copy` moves the same bytes with the best plain "
      "copy:\n\n"
      "| case | this | baseline | copy | floor | this / floor | |\n|---|---|---|---|---|---|---|\n";
  return text + rows_within(head, rows, bytes, "cases");
}

std::string failure_text(const TaskView& task, const Attempt& attempt, std::size_t bytes) {
  const Verdict& verdict = attempt.verdict;
  std::string text =
      "Gate: " + std::string(to_string(verdict.gate)) + ". Reason: " + safe_line(verdict.reason, 80) + ".\n";
  if (is_hidden(verdict)) {
    return text +
           "It happened in a held-out case, near the ones you see. Look for what the visible shapes and contents do "
           "not "
           "exercise: other sizes, tails, alignments, strides, special values, and much slower neighbours of timed "
           "shapes.\n";
  }
  if (const Case* of = shown_case(*task.spec, verdict.case_id)) {
    text += "Case: " + describe_case(*task.spec, *of) +
            (verdict.family.empty() ? "" : "; contents: " + safe_line(verdict.family, 40)) + ".\n";
  }
  if (verdict.mismatch) {
    text += damage_text(*verdict.mismatch);
  }
  if (!verdict.message.empty()) {
    text += "\n" + fenced("", safe_text(verdict.message, bytes)) + "\n";
  }
  const std::string lines = quoted_lines(verdict.message, attempt.source);
  return lines.empty() ? text : text + "\nThe lines it names:\n\n" + fenced("", lines) + "\n";
}

std::string times_text(const TaskView& task, std::size_t bytes) {
  constexpr std::size_t kMostColumns = 12;
  std::vector<const Attempt*> columns = ranked(task.visible);
  if (columns.empty()) {
    return "No attempt was measured: there is no evidence, only conjectures are possible.";
  }
  const std::size_t hidden = columns.size() - std::min(columns.size(), kMostColumns);
  columns.resize(columns.size() - hidden);
  std::ranges::sort(columns, std::less<>(), [](const Attempt* a) { return a->id; });
  std::string head = "| case |";
  std::string rule = "|---|";
  for (const Attempt* attempt : columns) {
    head += " " + std::to_string(attempt->id.value) + " |";
    rule += "---|";
  }
  std::vector<std::string> rows;
  for (const char* set : {"time", "emulate", "check"}) {
    for (const Case& of : shown_cases(*task.spec, set)) {
      std::string cells;
      bool measured = false;
      for (const Attempt* attempt : columns) {
        const auto score = std::ranges::find(attempt->score->cases, of.id.value, &CaseScore::case_id);
        measured = measured || score != attempt->score->cases.end();
        cells += " " + (score == attempt->score->cases.end() ? "-" : interval_us(score->candidate)) + " |";
      }
      if (measured) {
        rows.push_back("| " + describe_case(*task.spec, of) + " |" + cells + "\n");
      }
    }
  }
  const bool estimates = std::ranges::any_of(
      columns, [](const Attempt* attempt) { return attempt->score->method == ClockMethod::kEstimate; });
  head = (estimates ? "Estimates of the emulator, not times.\n\n" : "") + head;
  std::string text = rows_within(head + "\n" + rule + "\n", rows, bytes, "cases");
  return hidden == 0 ? text : text + "\n(" + std::to_string(hidden) + " slower attempts left out of this table)\n";
}

}  // namespace kf
