// SPDX-License-Identifier: Apache-2.0
#include "gauntlet_table.h"

#include <algorithm>
#include <vector>

#include "tables.h"

namespace kf {
namespace {

bool has(const std::vector<Verdict>& steps, Launches of) {
  return std::ranges::find(steps, of, &Verdict::of) != steps.end();
}

void print_legend(Console& console, const std::vector<Verdict>& steps) {
  if (std::ranges::any_of(steps, [](const Verdict& step) { return step.checks > 0; })) {
    console.line("compared: launches so far, of every gate up to there", Ink::kDim);
  }
  if (has(steps, Launches::kFewCases) && has(steps, Launches::kTheRest)) {
    console.line("few cases: small ones, tried while the rest is built", Ink::kDim);
  }
}

// A table would make columns of a few words out of what refusals say. The first, which decided, in full.
void print_refusals(Console& console, const std::vector<Verdict>& steps, const std::string& kind) {
  bool first = true;
  for (const Verdict& step : steps) {
    if (step.passed && step.reason.empty()) {
      continue;
    }
    if (!step.passed && first) {
      print_refusal(console, step);
      first = false;
      continue;
    }
    constexpr std::size_t kMost = 400;
    const std::string where = where_of(step, kind);
    console.line("  " + std::string(step.passed ? "passed" : "also") + " " + std::string(to_string(step.gate)) +
                     (where.empty() ? "" : " (" + where + ")") + ": " + step.reason + ": " +
                     cut_line(step.message, kMost),
                 Ink::kDim);
  }
}

void print_outcome(Console& console, const Evaluation& evaluation, const DeviceFacts& facts) {
  if (evaluation.rig_fault) {
    console.line("  no verdict: the rig failed (" + evaluation.rig_fault->reason + "): " + evaluation.rig_fault->what,
                 Ink::kBad);
  } else if (!evaluation.verdict.passed) {
    console.line("  REFUSED", Ink::kBad);
  } else if (facts.kind == "none") {
    console.line("  built for " + facts.arch + "; NOT executed: --device none", Ink::kStrong);
  } else {
    console.line("  passed every gate that ran", Ink::kGood);
  }
}

}  // namespace

std::string where_of(const Verdict& step, const std::string& kind) {
  if (step.gate < Gate::kCheck) {
    return {};
  }
  const std::string device = kind == "cuda" ? "GPU" : kind;
  const std::string place = step.gate == Gate::kConfirm ? "confirmation" : device;
  switch (step.of) {
    case Launches::kEmulatorFirst:
      return step.gate == Gate::kConfirm ? "confirmation, emulator in front" : "emulator in front";
    case Launches::kFewCases:
      return place + ", few cases";
    case Launches::kTheRest:
      return place + ", the rest";
    case Launches::kNone:
      break;
  }
  return place;
}

void print_gauntlet(Console& console, const std::string& candidate, const Evaluation& evaluation,
                    const DeviceFacts& facts) {
  console.line(candidate, Ink::kStrong);
  const std::vector<Verdict> steps = told_once(evaluation.steps);
  Table table({"gate", "where", "verdict", "compared", "case", "family"});
  for (const Verdict& step : steps) {
    const bool plain = step.passed && step.reason.empty();
    table.add({std::string(to_string(step.gate)), where_of(step, facts.kind), plain ? "passed" : step.reason,
               step.checks == 0 ? "" : std::to_string(step.checks), step.passed ? "" : step.case_id,
               step.passed ? "" : step.family});
  }
  console.table(table);
  print_legend(console, steps);
  print_refusals(console, steps, facts.kind);
  print_checked(console, evaluation.checked);
  for (const std::string& note : evaluation.notes) {
    console.line("  note: " + note, Ink::kDim);
  }
  print_outcome(console, evaluation, facts);
}

}  // namespace kf
