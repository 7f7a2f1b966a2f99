// SPDX-License-Identifier: Apache-2.0
// kfactory show OUT [ATTEMPT]: the leader board, or one attempt's story.
#include <algorithm>
#include <charconv>
#include <filesystem>

#include "commands.h"
#include "factory/records.h"
#include "ledger/run_folder.h"
#include "ledger/sqlite_ledger.h"
#include "parts.h"
#include "reports.h"
#include "story.h"
#include "tables.h"

namespace kf {
namespace {

const Attempt& attempt_named(const std::vector<Attempt>& attempts, const std::string& name) {
  std::int64_t id = 0;
  std::from_chars(name.data(), name.data() + name.size(), id);
  const auto found = std::ranges::find(attempts, AttemptId{id}, &Attempt::id);
  if (found == attempts.end()) {
    throw UsageError{
        {{name, "this run has no such attempt",
          attempts.empty() ? "it has none yet" : "attempts are numbered 1 to " + std::to_string(attempts.size())}}};
  }
  return *found;
}

// The attempt's folder and what lies in it: an open attempt has none yet.
std::string files_of(const std::filesystem::path& folder) {
  std::vector<std::string> names;
  std::error_code none;
  for (const std::filesystem::directory_entry& entry : std::filesystem::directory_iterator(folder, none)) {
    names.push_back(entry.path().filename().string());
  }
  std::ranges::sort(names);
  std::string text = folder.string() + ": ";
  for (const std::string& name : names) {
    text += (name == names.front() ? "" : ", ") + name;
  }
  return names.empty() ? "none yet; they are written when the run stops" : text;
}

void tell_story(Session& session, const Ledger& ledger, const Attempt& attempt) {
  Console& console = session.console;
  const int columns = std::max(console.terminal().columns - 2, 40);
  console.line("attempt " + std::to_string(attempt.id.value) + ": " + std::string(to_string(attempt.role)) + " " +
                   std::to_string(attempt.ordinal) + ", " + std::string(to_string(attempt.state)),
               Ink::kStrong);
  if (attempt.parent) {
    console.line("from:       attempt " + std::to_string(attempt.parent->value));
  }
  console.line("direction:  " + attempt.direction);
  if (!attempt.hypothesis.empty()) {
    console.line("hypothesis: " + attempt.hypothesis);
  }
  console.line("files:      " +
               files_of(std::filesystem::path(session.options.run_folder) / "attempts" / attempt_folder_name(attempt)));
  console.line("");
  for (const std::string& line : story_of(ledger.read(attempt.id, attempt.id))) {
    console.line("  " + cut_line(line, console.terminal().live ? static_cast<std::size_t>(columns) : 240), Ink::kDim);
  }
  console.line("");
  if (!attempt.verdict.passed && attempt.state == AttemptState::kRejected) {
    print_refusal(console, attempt.verdict);
  }
  print_kernels(console, attempt.kernels);
  for (const auto& [name, value] : attempt.tune) {
    console.line("  tune " + name + " = " + std::to_string(value));
  }
  print_checked(console, attempt.checked);
  if (attempt.score) {
    print_score(console, *attempt.score, {});
  }
  if (const std::string costs = cost_line(attempt.costs); !costs.empty()) {
    console.line("cost: " + costs, Ink::kDim);
  }
  if (!attempt.source.empty()) {
    console.line("");
    console.line(attempt.source);
  }
}

}  // namespace

int show_command(Session& session) {
  const std::filesystem::path file = std::filesystem::path(session.options.run_folder) / "ledger.sqlite";
  if (!std::filesystem::exists(file)) {
    throw UsageError{
        {{session.options.run_folder, "is no run folder: there is no ledger.sqlite in it", "give the --out of a run"}}};
  }
  const SqliteLedger ledger(file, SqliteLedger::Mode::kRead);
  const std::vector<Attempt> attempts = attempts_of(ledger);
  if (!session.options.names.empty()) {
    const Attempt& attempt = attempt_named(attempts, session.options.names.front());
    if (session.options.json) {
      session.console.line(show_report({attempt}));
    } else {
      tell_story(session, ledger, attempt);
    }
    return exits::kDone;
  }
  if (session.options.json) {
    session.console.line(show_report(attempts));
    return exits::kDone;
  }
  print_leader_board(session.console, attempts);
  return exits::kDone;
}

}  // namespace kf
