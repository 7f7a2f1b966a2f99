// SPDX-License-Identifier: Apache-2.0
// kfactory bench OUT: the winners of a run again, on all timed cases, against the baselines and a copy.
#include <algorithm>
#include <filesystem>

#include "commands.h"
#include "factory/records.h"
#include "ledger/run_folder.h"
#include "ledger/sqlite_ledger.h"
#include "os/atomic_file.h"
#include "os/entropy.h"
#include "os/steady_clock.h"
#include "parts.h"
#include "reports.h"
#include "tables.h"

namespace kf {
namespace {

// The spec as the run saw it, from its ledger: the file it came from may have changed or gone.
Spec spec_of(const Ledger& ledger, const std::string& folder) {
  const std::optional<RunStart> start = read_start(ledger);
  if (!start) {
    throw UsageError{{{folder, "this run never began", ""}}};
  }
  return or_usage(parse_spec(start->spec_json, [&](const std::string& path) -> OrError<std::string> {
    const auto found = start->spec_files.find(path);
    if (found == start->spec_files.end()) {
      return std::unexpected(Error{path, "is not in the ledger of this run", ""});
    }
    return found->second;
  }));
}

EvaluationSettings bench_settings(const Session& session, const Attempt& winner) {
  EvaluationSettings settings;
  settings.tune = winner.settled.empty() ? winner.tune : Assignment{};
  settings.margin = session.settings.share("run.margin");
  settings.compile_jobs = static_cast<std::int32_t>(session.settings.count("run.compile_jobs"));
  settings.variant = {winner.id, 0};
  settings.secret = draw_run_secret();
  return settings;
}

void write_or_fail(const std::string& path, const std::string& text) {
  if (path.empty()) {
    return;
  }
  if (const OrError<void> written = write_file_atomically(path, text); !written) {
    throw Fatal(to_string(written.error()));
  }
}

void print(Session& session, const BenchResult& result, const DeviceFacts& facts) {
  Console& console = session.console;
  console.line("attempt " + std::to_string(result.attempt.value), Ink::kStrong);
  if (!result.evaluation.verdict.passed) {
    print_refusal(console, result.evaluation.verdict);
  }
  print_checked(console, result.evaluation.checked);
  if (result.evaluation.score) {
    print_score(console, *result.evaluation.score, facts);
  }
  for (const std::string& note : result.evaluation.notes) {
    console.line("note: " + note, Ink::kDim);
  }
}

}  // namespace

int bench_command(Session& session) {
  const Options& options = session.options;
  const std::filesystem::path file = std::filesystem::path(options.run_folder) / "ledger.sqlite";
  if (!std::filesystem::exists(file)) {
    throw UsageError{
        {{options.run_folder, "is no run folder: there is no ledger.sqlite in it", "give the --out of a run"}}};
  }
  const SqliteLedger ledger(file, SqliteLedger::Mode::kRead);
  const Spec spec = spec_of(ledger, options.run_folder);
  const std::vector<Attempt> attempts = attempts_of(ledger);
  const std::vector<const Attempt*> winners = winners_of(attempts, 1);
  if (winners.empty()) {
    (options.json ? session.remarks : session.console)
        .line("this run has no winner to measure: nothing right was faster than the baseline");
    if (options.json) {  // no device was opened to find that out
      session.console.line(bench_report(spec, {}, {DeviceFacts{}}));
    }
    return exits::kNothingWon;
  }
  SteadyClock clock;
  const std::unique_ptr<Compiler> compiler = open_compiler(session.settings);
  const Machine machine = open_machine(session, spec.arch, BesideGpu::kNothing);
  if (machine.rig == nullptr) {
    throw UsageError{{{"--device none", "there is nothing to measure with", "cuda, or emulator for estimates"}}};
  }
  Factory factory;
  factory.spec = &spec;
  factory.facts = machine.facts;
  factory.compiler = compiler.get();
  factory.rig = machine.rig.get();
  factory.clock = &clock;

  std::vector<BenchResult> results;
  bool won = true;
  for (const Attempt* winner : winners) {
    const Candidate candidate =
        or_usage(parse_candidate(winning_source(*winner), "attempt " + std::to_string(winner->id.value)));
    results.push_back({winner->id, evaluate(factory, candidate, bench_settings(session, *winner), session.stop)});
    const Evaluation& evaluation = results.back().evaluation;
    if (evaluation.rig_fault) {
      throw Fatal("the rig failed (" + evaluation.rig_fault->reason + "): " + evaluation.rig_fault->what);
    }
    if (evaluation.state == AttemptState::kOpen) {
      return exits::kInterrupted;
    }
    won = won && evaluation.score && evaluation.score->against_baseline == Comparison::kWin;
    if (!options.json) {
      print(session, results.back(), machine.facts);
    }
  }
  const std::string report = bench_report(spec, results, {machine.facts, machine.note});
  if (options.json) {
    session.console.line(report);
  }
  write_or_fail(options.out, report + "\n");
  write_or_fail(options.csv, bench_csv(results));
  return won ? exits::kDone : exits::kNothingWon;
}

}  // namespace kf
