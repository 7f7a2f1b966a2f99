// SPDX-License-Identifier: Apache-2.0
// kfactory gauntlet SPEC CANDIDATE...: every gate for each candidate, for anyone who distrusts a kernel.
#include <algorithm>
#include <iterator>
#include <utility>
#include <vector>

#include "commands.h"
#include "factory/evaluation.h"
#include "gauntlet_table.h"
#include "os/atomic_file.h"
#include "os/entropy.h"
#include "os/steady_clock.h"
#include "parts.h"
#include "reports.h"

namespace kf {
namespace {

Evaluation refused_reply(const Errors& errors) {
  Evaluation evaluation;
  evaluation.verdict.passed = false;
  evaluation.verdict.gate = Gate::kReply;
  evaluation.verdict.reason = "plan";
  evaluation.verdict.message = to_string(errors);
  evaluation.steps.push_back(evaluation.verdict);
  return evaluation;
}

// Everything, then (asked for) everything once more as a confirmation does it: its steps follow.
Evaluation put_through(const Factory& factory, JobBuilder& jobs, const Session& session, const Candidate& candidate,
                       EvaluationSettings settings) {
  settings.secret = draw_run_secret();
  settings.cliffs = session.options.confirm;
  Evaluation evaluation = evaluate_with(factory, jobs, candidate, settings, session.stop);
  const bool more = session.options.confirm && factory.rig != nullptr && evaluation.state != AttemptState::kOpen &&
                    (evaluation.verdict.passed || settings.keep_going);
  if (!more) {
    return evaluation;
  }
  settings.secret = draw_run_secret();
  settings.confirm = settings.held_out = true;
  settings.time = false;
  settings.tune = evaluation.tune;
  Evaluation again = evaluate_with(factory, jobs, candidate, settings, session.stop);
  for (Verdict& step : again.steps) {
    if (step.gate == Gate::kConfirm) {
      evaluation.steps.push_back(std::move(step));
    }
  }
  std::ranges::move(again.notes, std::back_inserter(evaluation.notes));
  evaluation.rig_fault = again.rig_fault;
  if (again.state == AttemptState::kOpen) {  // cut short: no word about the candidate
    evaluation.state = AttemptState::kOpen;
    return evaluation;
  }
  if (evaluation.verdict.passed) {
    evaluation.verdict = again.verdict;
    evaluation.state = again.verdict.passed ? evaluation.state : AttemptState::kRejected;
  }
  return evaluation;
}

}  // namespace

int gauntlet_command(Session& session) {
  const Spec spec = read_spec(session.options.spec);
  std::vector<std::pair<std::string, std::string>> texts;  // path, contents: a typo must not end an hour's work
  for (const std::string& path : session.options.names) {
    texts.emplace_back(path, or_usage(read_file(path, 4 << 20)));
  }
  SteadyClock clock;
  const std::unique_ptr<Compiler> compiler = open_compiler(session.settings);
  const Machine machine = open_machine(session, spec.arch);
  remark_device(session, machine);

  Factory factory = judging_factory(spec, machine, *compiler, clock);
  EvaluationSettings settings = evaluation_settings(session, spec, machine.facts);
  settings.keep_going = !session.options.first_refusal;
  JobBuilder jobs(factory, settings.compile_jobs);

  bool all_passed = true, all_judged = true;
  for (const auto& [path, text] : texts) {
    show_progress(session, factory, path);
    const OrErrors<Candidate> candidate = parse_candidate(text, path);
    const Evaluation evaluation =
        candidate ? put_through(factory, jobs, session, *candidate, settings) : refused_reply(candidate.error());
    if (session.options.json) {
      session.console.line(eval_report(spec, path, text, evaluation, {machine.facts, machine.note}));
    } else {
      print_gauntlet(session.console, path, evaluation, machine.facts);
    }
    if (evaluation.state == AttemptState::kOpen && !evaluation.rig_fault) {
      return exits::kInterrupted;
    }
    all_passed = all_passed && evaluation.verdict.passed;
    all_judged = all_judged && !evaluation.rig_fault;
  }
  if (!all_judged) {
    return exits::kCannotGoOn;
  }
  return machine.rig != nullptr && all_passed ? exits::kDone : exits::kNothingWon;
}

}  // namespace kf
