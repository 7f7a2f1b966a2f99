// SPDX-License-Identifier: Apache-2.0
// kfactory eval SPEC CANDIDATE.cu: one candidate through every gate.
#include <algorithm>
#include <cstdio>

#include "commands.h"
#include "explain.h"
#include "factory/cases.h"
#include "os/entropy.h"
#include "os/steady_clock.h"
#include "parts.h"
#include "reports.h"
#include "tables.h"

namespace kf {
namespace {

// Each place that a refusal is about, with its neighbours.
void print_places(Console& console, const Verdict& verdict, const std::string& source) {
  for (const ExplainedPlace& at : explain(verdict, source)) {
    for (std::size_t i = 0; i < at.lines.size(); ++i) {
      const std::int64_t number = at.first_line + static_cast<std::int64_t>(i);
      const bool here = number == at.place.line;
      const std::string margin = std::to_string(number);
      console.line((here ? "> " : "  ") + std::string(margin.size() < 4 ? 4 - margin.size() : 0, ' ') + margin + " | " +
                       at.lines[i],
                   here ? Ink::kStrong : Ink::kDim);
    }
  }
}

void print(Session& session, const Candidate& candidate, const Evaluation& evaluation, const Machine& machine) {
  Console& console = session.console;
  print_gates_passed(console, evaluation);
  for (const Verdict& step : evaluation.steps) {
    if (step.passed) {
      continue;
    }
    print_refusal(console, step);
    if (session.options.explain) {
      print_places(console, step, candidate.source);
    }
  }
  print_kernels(console, evaluation.kernels);
  for (const std::string& note : evaluation.notes) {
    console.line("note: " + note, Ink::kDim);
  }
  print_checked(console, evaluation.checked);
  if (evaluation.score) {
    print_score(console, *evaluation.score, machine.facts);
  }
  if (const std::string costs = cost_line(evaluation.costs); !costs.empty()) {
    console.line("cost: " + costs, Ink::kDim);
  }
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
  remark_device(session, machine);

  Factory factory = judging_factory(spec, machine, *compiler, clock);
  show_progress(session, factory, session.options.candidate);
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
    session.console.line(
        eval_report(spec, session.options.candidate, candidate.source, evaluation, {machine.facts, machine.note}));
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
