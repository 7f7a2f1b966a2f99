// SPDX-License-Identifier: Apache-2.0
// kfactory eval SPEC CANDIDATE.cu: one candidate through every gate.
#include <algorithm>
#include <cstdio>
#include <sstream>

#include "commands.h"
#include "factory/cases.h"
#include "os/entropy.h"
#include "os/steady_clock.h"
#include "parts.h"
#include "reports.h"
#include "tables.h"

namespace kf {
namespace {

// Numbers of source lines that a message names: "candidate.cu:12", "line 12".
std::vector<std::size_t> lines_named(const std::string& message) {
  std::vector<std::size_t> named;
  for (const std::string_view mark : {".cu:", "line "}) {
    for (std::size_t at = message.find(mark); at != std::string::npos; at = message.find(mark, at + 1)) {
      const std::size_t number = std::strtoul(message.c_str() + at + mark.size(), nullptr, 10);
      if (number >= 1 && std::ranges::find(named, number) == named.end()) {
        named.push_back(number);
      }
    }
  }
  return named;
}

// Each line that a message names, with its neighbours.
void explain(Console& console, const std::string& message, const std::string& source) {
  constexpr std::size_t kAround = 2;
  std::vector<std::string> lines;
  std::istringstream text(source);
  for (std::string line; std::getline(text, line);) {
    lines.push_back(line);
  }
  for (const std::size_t number : lines_named(message)) {
    for (std::size_t i = number - std::min(number - 1, kAround); i <= std::min(number + kAround, lines.size()); ++i) {
      const bool here = i == number;
      const std::string margin = std::to_string(i);
      console.line((here ? "> " : "  ") + std::string(margin.size() < 4 ? 4 - margin.size() : 0, ' ') + margin + " | " +
                       lines[i - 1],
                   here ? Ink::kStrong : Ink::kDim);
    }
  }
}

void print(Session& session, const Candidate& candidate, const Evaluation& evaluation, const Machine& machine) {
  Console& console = session.console;
  for (const Verdict& step : evaluation.steps) {
    print_verdict(console, step);
    if (!step.passed && session.options.explain) {
      explain(console, step.message, candidate.source);
    }
  }
  print_kernels(console, evaluation.kernels);
  for (const std::string& note : evaluation.notes) {
    console.line("note: " + note, Ink::kDim);
  }
  if (evaluation.score) {
    print_score(console, *evaluation.score, machine.facts);
  }
  console.line("cost: " + cost_line(evaluation.costs), Ink::kDim);
  if (evaluation.state == AttemptState::kBuilt && machine.rig == nullptr) {
    console.line("built for " + machine.facts.arch + "; NOT executed: " + machine.note, Ink::kStrong);
  }
}

}  // namespace

int eval_command(Session& session) {
  const Spec spec = read_spec(session.options.spec);
  const Candidate candidate = read_candidate_file(session.options.candidate);
  SteadyClock clock;
  const std::unique_ptr<Compiler> compiler = open_compiler(session.settings);
  const Machine machine = open_machine(session, spec.arch);

  const Factory factory = judging_factory(spec, machine, *compiler, clock);
  EvaluationSettings settings = evaluation_settings(session, spec, machine.facts);
  settings.confirm = settings.held_out = session.options.confirm;
  const std::string& cases = session.options.cases;
  if (!settings.confirm && (cases.empty() || cases == "screen")) {
    settings.max_quads = kScreenQuads;  // what a run does with each candidate
  }
  settings.passes = session.options.repeat;
  settings.secret = draw_run_secret();
  const Evaluation evaluation = evaluate(factory, candidate, settings, session.stop);

  if (session.options.json) {
    session.console.line(eval_report(spec, session.options.candidate, evaluation, machine.facts));
  } else {
    print(session, candidate, evaluation, machine);
    if (session.options.repeat > 1) {
      session.console.line("passed " + std::to_string(evaluation.passes.value_or(0)) + " of " +
                           std::to_string(session.options.repeat) + " times, with fresh seeds each");
    }
  }
  if (evaluation.rig_fault) {
    throw Fatal("the rig failed (" + evaluation.rig_fault->reason + "): " + evaluation.rig_fault->what +
                "; this says nothing about the candidate (kfactory doctor looks at the device)");
  }
  if (evaluation.state == AttemptState::kOpen) {
    return exits::kInterrupted;
  }
  return machine.rig != nullptr && evaluation.verdict.passed ? exits::kDone : exits::kNothingWon;
}

}  // namespace kf
