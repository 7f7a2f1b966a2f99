// SPDX-License-Identifier: Apache-2.0
// One candidate's straight line through the gates, cheap first. The order is the promise that a wrong candidate is out
// within a second: two small cases are compiled and checked while the other cases are still being compiled.
#include "evaluation.h"

#include <algorithm>
#include <future>

#include <kfactory/audit.h>

#include "cases.h"
#include "evaluation_line.h"
#include "sanitizer_evidence.h"
#include "stop.h"
#include "sweep.h"

namespace kf {
namespace {

Event event_of(Event::Kind kind, const EvaluationSettings& settings, std::string text) {
  Event event;
  event.kind = kind;
  event.attempt = settings.variant.attempt;
  event.text = std::move(text);
  return event;
}

}  // namespace

bool EvaluationLine::accept(Verdict verdict, Launches of) {
  verdict.of = of;
  if (verdict.passed && result.verdict.passed) {
    verdict.checks += result.verdict.checks;
  }
  if (factory.observe && (!verdict.passed || (verdict.gate >= Gate::kCheck && of != Launches::kFewCases))) {
    const std::string text =
        std::string(to_string(verdict.gate)) +
        (verdict.passed ? ": passed, " + std::to_string(verdict.checks) + " launches compared so far"
                        : ": " + verdict.reason + ": " + verdict.message);
    factory.observe(event_of(Event::Kind::kVerdict, settings, text));
  }
  result.steps.push_back(verdict);
  if (result.verdict.passed) {  // with keep_going the first refusal stands
    result.verdict = std::move(verdict);
  }
  result.state = result.verdict.passed ? AttemptState::kBuilt : AttemptState::kRejected;
  return result.verdict.passed || settings.keep_going;
}

bool EvaluationLine::accept_all(const CheckReport& report, Launches of) {
  bool go_on = true;
  for (auto from = report.all.begin(); from != report.all.end();) {
    const auto to = std::find_if(from, report.all.end(), [&](const Verdict& v) { return v.gate != from->gate; });
    const auto refused = std::find_if(from, to, [](const Verdict& v) { return !v.passed; });
    go_on = accept(refused == to ? *std::prev(to) : *refused, of) && go_on;
    from = to;
  }
  return go_on;
}

Verdict passed_gate(Gate gate) {
  Verdict verdict;
  verdict.gate = gate;
  return verdict;
}

namespace {

Purpose purpose_of(const EvaluationSettings& settings) {
  return settings.confirm ? Purpose::kConfirm : Purpose::kCheck;
}

bool audit(EvaluationLine& line) {
  std::optional<Verdict> refused =
      line.costs.during("source audit", [&] { return audit_source(line.candidate.source); });
  return line.accept(refused ? std::move(*refused) : passed_gate(Gate::kSourceAudit));
}

// The first refusal of each reason that was not told before.
void accept_audit(EvaluationLine& line, const std::vector<Verdict>& audited) {
  for (const Verdict& refusal : audited) {
    const bool known = std::ranges::any_of(line.result.steps, [&](const Verdict& step) {
      return step.gate == refusal.gate && step.reason == refusal.reason;
    });
    if (!known) {
      line.accept(refusal);
    }
  }
  if (audited.empty() &&
      std::ranges::find(line.result.steps, Gate::kBinaryAudit, &Verdict::gate) == line.result.steps.end()) {
    line.accept(passed_gate(Gate::kBinaryAudit));
  }
}

// On the emulator, where there is one beside the GPU. False: stop here.
bool pass_emulator(EvaluationLine& line) {
  EmulatorFirst* const first = line.jobs.emulator_first();
  if (first == nullptr) {
    return true;
  }
  const std::size_t told = line.result.notes.size();
  std::optional<Verdict> refusal = line.costs.during("emulator", [&] {
    return first->refusal(line.candidate, line.result.tune, cases_for_emulator_first(*line.factory.spec, line.settings),
                          line.settings, line.result.notes, line.stop);
  });
  if (line.settings.confirm && line.result.notes.size() > told) {
    line.emulators_word = line.result.notes.back();
  }
  return !refusal || line.accept(std::move(*refusal), Launches::kEmulatorFirst);
}

// Settles which tune point counts. With one there is nothing to settle.
std::optional<Arm> choose_variant(EvaluationLine& line) {
  Sweep sweep = sweep_tune(line.factory, line.jobs, line.candidate, line.cases, line.settings, line.stop, &line.costs);
  std::ranges::move(sweep.notes, std::back_inserter(line.result.notes));
  line.result.variants = sweep.tried;
  if (!sweep.probe) {
    line.accept(std::move(sweep.probe.error()));
    return std::nullopt;
  }
  line.result.tune = std::move(sweep.tune);
  line.result.variant = sweep.variant;
  if (line.settings.keep_going) {  // who asks for every gate wants to see these too
    line.accept(passed_gate(Gate::kCompile));
    accept_audit(line, sweep.audited);
    line.accept(passed_gate(Gate::kPlan));
  }
  return std::move(*sweep.probe);
}

bool check(EvaluationLine& line, const std::vector<Case>& cases, Arm arm) {
  if (cases.empty()) {
    return true;
  }
  std::vector<CheckPoint> points =
      check_points(*line.factory.spec, cases, true, purpose_of(line.settings), line.settings);
  Job job = line.costs.during("references and harness",
                              [&] { return line.jobs.check_job(cases, std::move(arm), std::move(points), line.stop); });
  job.kind = line.settings.confirm ? Job::Kind::kConfirm : Job::Kind::kCheck;
  job.keep_going = line.settings.keep_going;
  job.passes = line.settings.passes;
  job.deadline *= line.settings.passes;
  const std::string_view step = line.settings.confirm ? "confirm" : "check";
  const CheckReport report = line.costs.during(step, [&] { return run_check_report(line.factory, job, line.stop); });
  line.costs.add_inside(step, report.costs);
  line.result.passes = line.result.passes ? std::min(*line.result.passes, report.passes) : report.passes;
  const bool of_probe = &cases == &line.cases.probe && !line.cases.check.empty();
  const Launches of = of_probe ? Launches::kFewCases : Launches::kTheRest;
  return report.all.empty() ? line.accept(report.verdict, of) : line.accept_all(report, of);
}

// What remains after the probe, in one arm so that equal requests are one build: first `check`, then `time`.
std::expected<Arm, Verdict> build_rest(EvaluationLine& line, const std::stop_token& stop,
                                       std::vector<Verdict>& audited) {
  std::vector<Case> all = line.cases.check;
  std::ranges::copy(line.cases.time, std::back_inserter(all));
  return line.jobs.arm("candidate", line.candidate, all, line.result.tune, stop, &line.costs,
                       line.settings.keep_going ? &audited : nullptr);
}

Arm part_of(const Arm& whole, std::size_t first, std::size_t count) {
  Arm part;
  part.name = whole.name;
  for (std::size_t i = first; i < first + count; ++i) {
    part.plans.push_back(whole.plans[i]);
    const Digest& used = whole.plans[i].build;
    if (std::ranges::find(part.builds, used, &Build::id) == part.builds.end()) {
      part.builds.push_back(*std::ranges::find(whole.builds, used, &Build::id));
    }
  }
  return part;
}

void remember_builds(EvaluationLine& line, const Arm& arm) {
  for (const ResolvedPlan& plan : arm.plans) {
    if (std::ranges::find(line.result.builds, plan.build, &Build::id) == line.result.builds.end()) {
      line.result.builds.push_back(*std::ranges::find(arm.builds, plan.build, &Build::id));
      line.result.build_cases.push_back(plan.of.value);
    }
  }
  if (!line.result.builds.empty()) {
    line.result.kernels = line.result.builds.front().kernels;
  }
}

// Emulator and probe while the rest is compiled; where one of them refuses, that ends the compilation.
std::optional<Arm> check_probe_while_building(EvaluationLine& line, const Arm& probe) {
  std::stop_source rest_stop;
  const std::stop_callback outer(line.stop, [&] { rest_stop.request_stop(); });
  std::vector<Verdict> audited;
  auto rest = std::async(std::launch::async, [&] { return build_rest(line, rest_stop.get_token(), audited); });
  const auto wait_quietly = [&] {
    rest_stop.request_stop();
    rest.wait();
  };
  try {
    if (line.factory.rig != nullptr && !(pass_emulator(line) && check(line, line.cases.probe, probe))) {
      wait_quietly();
      remember_builds(line, probe);
      return std::nullopt;
    }
  } catch (...) {
    wait_quietly();
    throw;
  }
  std::expected<Arm, Verdict> built = rest.get();
  if (!built) {
    remember_builds(line, probe);
    line.accept(std::move(built.error()));
    return std::nullopt;
  }
  if (line.settings.keep_going) {
    accept_audit(line, audited);
  }
  return std::move(*built);
}

// Of a confirmation that passed: what compute-sanitizer says of it, beside the verdict.
void ask_sanitizer(EvaluationLine& line) {
  if (!line.settings.confirm || !line.result.verdict.passed || line.factory.facts.kind != "cuda") {
    return;
  }
  SanitizerReport report = ask_sanitizer(line.factory, line.jobs, line.candidate, line.cases.check, line.result.tune,
                                         line.settings, line.costs, line.stop);
  std::ranges::move(lines_of(report), std::back_inserter(line.result.notes));
  if (line.result.score) {
    line.result.score->sanitizer = std::move(report);
  }
}

void walk(EvaluationLine& line) {
  if (!audit(line)) {
    return;
  }
  line.cases = choose_cases(*line.factory.spec, line.factory.facts, line.settings);
  std::ranges::copy(line.cases.notes, std::back_inserter(line.result.notes));
  const std::optional<Arm> probe = choose_variant(line);
  if (!probe) {
    return;
  }
  const std::optional<Arm> rest = check_probe_while_building(line, *probe);
  if (!rest) {
    return;
  }
  const std::size_t checks = line.cases.check.size();
  const Arm timed = part_of(*rest, checks, line.cases.time.size());
  remember_builds(line, timed);
  remember_builds(line, *probe);
  remember_builds(line, *rest);
  if (line.factory.rig == nullptr) {
    line.accept(passed_gate(Gate::kPlan));
    line.result.notes.emplace_back("not executed: there is no device");
    return;
  }
  const bool go_on = check(line, line.cases.check, part_of(*rest, 0, checks));
  if (line.result.verdict.passed) {
    line.result.checked = line.cases.checked;
  }
  if (go_on && line.settings.time && !line.cases.time.empty()) {
    time_it(line, timed);
  }
  if (line.result.score) {
    line.result.score->emulator = line.emulators_word;
  }
  ask_sanitizer(line);
}

}  // namespace

Evaluation evaluate_with(const Factory& factory, JobBuilder& jobs, const Candidate& candidate,
                         const EvaluationSettings& settings, std::stop_token stop) {
  EvaluationLine line{factory, jobs, candidate, settings, stop, {}, {}, CostLog(factory.clock)};
  try {
    line.costs.during("total", [&] { walk(line); });
  } catch (const Interrupted&) {
    line.result.state = AttemptState::kOpen;
  } catch (const RigFailed& failed) {
    line.result.state = AttemptState::kOpen;
    line.result.rig_fault = failed.fault;
  }
  line.result.costs = line.costs.all();
  return std::move(line.result);
}

Evaluation evaluate(const Factory& factory, const Candidate& candidate, const EvaluationSettings& settings,
                    std::stop_token stop) {
  JobBuilder jobs(factory, settings.compile_jobs);
  return evaluate_with(factory, jobs, candidate, settings, stop);
}

}  // namespace kf
