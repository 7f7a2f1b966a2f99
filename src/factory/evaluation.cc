// SPDX-License-Identifier: Apache-2.0
// One candidate's straight line through the gates, cheap first. The order is the promise that a wrong candidate is out
// within a second: two small cases are compiled and checked while the other cases are still being compiled.
#include "evaluation.h"

#include <algorithm>
#include <future>

#include <kfactory/audit.h>

#include "cases.h"
#include "cliffs.h"
#include "costs.h"
#include "kernel_records.h"
#include "physics.h"
#include "sabotage.h"
#include "sanitizer_evidence.h"
#include "scaled_estimates.h"
#include "score.h"
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

// The evaluation under way: what each step reads and adds to.
struct Line {
  const Factory& factory;
  JobBuilder& jobs;
  const Candidate& candidate;
  const EvaluationSettings& settings;
  std::stop_token stop;
  ChosenCases cases;
  Evaluation result;
  CostLog costs;

  bool accept(Verdict verdict) {
    if (factory.observe && (!verdict.passed || verdict.gate >= Gate::kCheck)) {
      const std::string text = std::string(to_string(verdict.gate)) +
                               (verdict.passed ? ": passed, " + std::to_string(verdict.checks) + " checks"
                                               : ": " + verdict.reason + ": " + verdict.message);
      factory.observe(event_of(Event::Kind::kVerdict, settings, text));
    }
    if (verdict.passed && result.verdict.passed) {
      verdict.checks += result.verdict.checks;
    }
    result.steps.push_back(verdict);
    if (result.verdict.passed) {  // with keep_going the first refusal stands
      result.verdict = std::move(verdict);
    }
    result.state = result.verdict.passed ? AttemptState::kBuilt : AttemptState::kRejected;
    return result.verdict.passed || settings.keep_going;
  }

  // Of a job that kept going: one step for each of its gates, the first refusal of each.
  bool accept_all(const CheckReport& report) {
    bool go_on = true;
    for (auto from = report.all.begin(); from != report.all.end();) {
      const auto to = std::find_if(from, report.all.end(), [&](const Verdict& v) { return v.gate != from->gate; });
      const auto refused = std::find_if(from, to, [](const Verdict& v) { return !v.passed; });
      go_on = accept(refused == to ? *std::prev(to) : *refused) && go_on;
      from = to;
    }
    return go_on;
  }
};

Verdict passed(Gate gate) {
  Verdict verdict;
  verdict.gate = gate;
  return verdict;
}

Purpose purpose_of(const EvaluationSettings& settings) {
  return settings.confirm ? Purpose::kConfirm : Purpose::kCheck;
}

bool audit(Line& line) {
  std::optional<Verdict> refused =
      line.costs.during("source audit", [&] { return audit_source(line.candidate.source); });
  return line.accept(refused ? std::move(*refused) : passed(Gate::kSourceAudit));
}

// The first refusal of each reason that was not told before.
void accept_audit(Line& line, const std::vector<Verdict>& audited) {
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
    line.accept(passed(Gate::kBinaryAudit));
  }
}

// Settles which tune point counts. With one there is nothing to settle.
std::optional<Arm> choose_variant(Line& line) {
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
    line.accept(passed(Gate::kCompile));
    accept_audit(line, sweep.audited);
    line.accept(passed(Gate::kPlan));
  }
  return std::move(*sweep.probe);
}

bool check(Line& line, const std::vector<Case>& cases, Arm arm, bool every_family) {
  if (cases.empty()) {
    return true;
  }
  std::vector<CheckPoint> points =
      check_points(*line.factory.spec, cases, every_family, purpose_of(line.settings), line.settings);
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
  return report.all.empty() ? line.accept(report.verdict) : line.accept_all(report);
}

// What remains after the probe, in one arm so that equal requests are one build: first `check`, then `time`.
std::expected<Arm, Verdict> build_rest(Line& line, const std::stop_token& stop, std::vector<Verdict>& audited) {
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

void remember_builds(Line& line, const Arm& arm) {
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

// Probe and compilation of the rest side by side; a failed probe ends the compilation.
std::optional<Arm> check_probe_while_building(Line& line, const Arm& probe) {
  std::stop_source rest_stop;
  const std::stop_callback outer(line.stop, [&] { rest_stop.request_stop(); });
  std::vector<Verdict> audited;
  auto rest = std::async(std::launch::async, [&] { return build_rest(line, rest_stop.get_token(), audited); });
  const auto wait_quietly = [&] {
    rest_stop.request_stop();
    rest.wait();
  };
  try {
    if (line.factory.rig != nullptr && !check(line, line.cases.probe, probe, true)) {
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

// The candidate, and the champion where it builds.
std::vector<Arm> timed_arms(Line& line, Arm timed) {
  std::vector<Arm> arms;
  arms.push_back(std::move(timed));
  if (line.settings.champion) {
    auto champion =
        line.jobs.arm("champion", *line.settings.champion, line.cases.time, line.settings.champion_tune, line.stop);
    if (champion) {
      arms.push_back(std::move(*champion));
    } else {
      line.result.notes.push_back("the champion was not timed beside it: " + champion.error().message);
    }
  }
  return arms;
}

std::expected<TimeReport, Verdict> run_timed(Line& line, const Job& job) {
  auto report = line.costs.during("timing", [&] { return run_time_job(line.factory, job, line.stop); });
  if (report) {
    line.costs.add_inside("timing", report->costs);
  }
  return report;
}

// A refusal that may be the champion's is put to the test: the candidate is timed again without it. `job` is then what
// was timed.
std::expected<TimeReport, Verdict> time_beside_champion(Line& line, Job& job) {
  std::expected<TimeReport, Verdict> report = run_timed(line, job);
  const bool has_champion = job.arms.size() > 1 && job.arms[1].name == "champion";
  const bool candidates_own = report && (report->verdict.passed || report->arm == 0);
  if (candidates_own || !has_champion) {
    return report;
  }
  const Verdict& refusal = report ? report->verdict : report.error();
  line.result.notes.push_back("timed without the champion, after a refusal beside it that may be the champion's own: " +
                              refusal.reason + ": " + refusal.message);
  job.arms.erase(job.arms.begin() + 1);
  return run_timed(line, job);
}

// False: other kernels than the plan's ran.
bool add_kernel_records(Line& line, const Job& job) {
  if (line.factory.facts.kind != "cuda") {
    return true;
  }
  KernelRecords records = take_kernel_records(line.factory, job, line.costs, line.stop);
  if (!records.not_taken.empty()) {
    line.result.notes.push_back("launch truth was not checked, there are no kernel records (CUPTI): " +
                                records.not_taken);
  }
  std::ranges::move(records.timings, std::back_inserter(line.result.measurement->cases));
  return !records.refusal || line.accept(std::move(*records.refusal));
}

Score rescored(const Line& line) {
  return score_of(*line.factory.spec, line.factory.facts, *line.result.measurement, line.settings.margin);
}

// Counters where a time is faster than physics, which they may explain or refute, and for every timed case of a
// confirmation: evidence of what the kernel moves. False: it is refused.
bool add_counters(Line& line, const Job& job) {
  if (line.factory.facts.kind != "cuda") {
    return true;
  }
  std::vector<std::string> suspects;
  for (const CaseScore& of : rescored(line).cases) {
    if (of.suspect) {
      suspects.push_back(of.case_id);
    }
  }
  Measurement& measurement = *line.result.measurement;
  if (!suspects.empty() || line.settings.confirm) {
    const std::vector<std::string> wanted = line.settings.confirm ? counted_cases(job, suspects) : suspects;
    TakenCounters taken = take_counters(line.factory, job, wanted, line.costs, line.stop);
    measurement.counters = std::move(taken.cases);
    measurement.counters_refused = std::move(taken.refused);
    if (taken.refusal) {
      return line.accept(std::move(*taken.refusal));
    }
  }
  if (!suspects.empty() && !measurement.counters_refused.empty()) {
    line.result.notes.push_back(std::to_string(suspects.size()) +
                                " cases are faster than physics allows and there are no counters to decide (" +
                                measurement.counters_refused + "): they stay SUSPECT and are never a win");
  }
  const Score score = rescored(line);
  if (auto refuted = refuted_by_counters(*line.factory.spec, line.factory.facts, measurement, score)) {
    return line.accept(std::move(*refuted));
  }
  Verdict verdict = passed(Gate::kPhysics);
  if (const auto left = std::ranges::count_if(score.cases, &CaseScore::suspect); left > 0) {
    verdict.reason = "suspect";
    verdict.message = std::to_string(left) + " timed cases are faster than physics allows and do not count";
  }
  return line.accept(std::move(verdict));
}

// What the candidate did to the arms beside it.
bool unharmed(Line& line) {
  std::optional<Verdict> sabotage = sabotage_in(*line.result.measurement, line.settings.margin);
  return !sabotage || line.accept(std::move(*sabotage));
}

void note_python_baselines(Line& line) {
  for (const BaselineSpec& baseline : line.factory.spec->baselines) {
    if (baseline.kind == BaselineSpec::Kind::kPython) {
      line.result.notes.push_back("baseline " + baseline.name + " was not run: python baselines are not supported yet");
    }
  }
}

// The control refuses a case in which equal code took unequal time. By chance that happens to one case in some dozens,
// to the same one twice in a row hardly ever: those cases are timed once more, in a process and with contents of their
// own, and what comes out then stands.
std::expected<TimeReport, Verdict> time_beside_control(Line& line, Job& job) {
  std::expected<TimeReport, Verdict> report = time_beside_champion(line, job);
  if (!report || !report->verdict.passed) {
    return report;
  }
  std::vector<std::size_t> refused;
  for (std::size_t at = 0; at < report->measurement.cases.size(); ++at) {
    if (control_differs(report->measurement.cases[at], line.settings.margin)) {
      refused.push_back(at);
    }
  }
  if (refused.empty()) {
    return report;
  }
  Job once_more = job_of_cases(job, refused);
  for (std::size_t i = 0; i < once_more.cases.size(); ++i) {
    once_more.time_seeds[i] =
        seed_for(line.settings.secret, Purpose::kTime, line.settings.variant, once_more.cases[i].id.value, 3'000);
  }
  std::expected<TimeReport, Verdict> second = time_beside_champion(line, once_more);
  if (!second || !second->verdict.passed) {
    return second;
  }
  for (std::size_t i = 0; i < refused.size(); ++i) {
    CaseTiming& timing = report->measurement.cases[refused[i]];
    timing = std::move(second->measurement.cases[i]);
    timing.notes.emplace_back("timed a second time: in the first one the control, equal code, took another time");
  }
  report->verdict.checks += second->verdict.checks;
  return report;
}

// Neighbours of timed shapes: what an agent never sees must run at a speed of the same kind. False: it does not.
bool no_cliffs(Line& line) {
  if (!(line.settings.confirm || line.settings.cliffs) || line.factory.spec->limits.cliff == 0) {
    return true;
  }
  Verdict verdict = line.costs.during("cliffs", [&] {
    return look_for_cliffs(line.factory, line.jobs, line.candidate, line.result.tune, *line.result.measurement,
                           line.settings, line.costs, line.result.notes, line.stop);
  });
  const bool passed_cliffs = verdict.passed;
  return line.accept(std::move(verdict)) && passed_cliffs;
}

// An emulator runs small cases. What it counted is scaled to the timed ones, which the score is then about; they are
// compiled and planned like on a GPU. False: there the candidate is refused.
bool add_scaled_estimates(Line& line) {
  const std::vector<Case> timed = cases_to_scale_to(*line.factory.spec, line.settings);
  const bool ran_small = !line.cases.time.empty() && line.cases.time.front().set == "emulate";
  if (line.factory.facts.kind != "emulator" || !ran_small || timed.empty()) {
    return true;
  }
  std::expected<Arm, Verdict> own =
      line.jobs.arm("candidate", line.candidate, timed, line.result.tune, line.stop, &line.costs);
  if (!own) {
    return line.accept(std::move(own.error()));
  }
  std::vector<Arm> arms = line.jobs.baseline_arms(timed, line.settings, line.stop);
  arms.push_back(std::move(*own));
  if (line.settings.champion) {
    if (auto champion =
            line.jobs.arm("champion", *line.settings.champion, timed, line.settings.champion_tune, line.stop)) {
      arms.push_back(std::move(*champion));
    }
  }
  Measurement& measurement = *line.result.measurement;
  std::ranges::move(
      scaled_estimates(*line.factory.spec, line.factory.facts, measurement, timed, arms, line.result.notes),
      std::back_inserter(measurement.cases));
  return true;
}

bool time_it(Line& line, Arm timed) {
  note_python_baselines(line);
  std::vector<Arm> arms = timed_arms(line, std::move(timed));
  const std::vector<BaselineFailure> wrong = line.costs.during("baseline checks", [&] {
    return line.jobs.baseline_check().failures(line.factory, line.jobs, line.cases.time, line.settings, line.stop);
  });
  Job job = line.costs.during("baselines and copy row", [&] {
    return line.jobs.time_job(line.cases.time, std::move(arms), true, line.settings, line.stop);
  });
  std::expected<TimeReport, Verdict> report = time_beside_control(line, job);
  if (!report) {
    return line.accept(std::move(report.error()));
  }
  line.result.measurement = std::move(report->measurement);
  const bool timed_right = report->verdict.passed;
  if (!line.accept(std::move(report->verdict)) || !timed_right || !unharmed(line) || !add_kernel_records(line, job)) {
    return false;
  }
  drop_failing_baselines(*line.result.measurement, wrong);
  if (!add_counters(line, job) || !line.result.verdict.passed) {
    return false;
  }
  if (!no_cliffs(line) || !add_scaled_estimates(line) || !line.result.verdict.passed) {
    return false;
  }
  line.result.score = rescored(line);
  line.result.score->confirmed = line.settings.confirm;
  line.result.state = AttemptState::kMeasured;
  return true;
}

// Of a confirmation that passed: what compute-sanitizer says of it, beside the verdict.
void ask_sanitizer(Line& line) {
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

void walk(Line& line) {
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
    line.accept(passed(Gate::kPlan));
    line.result.notes.emplace_back("not executed: there is no device");
    return;
  }
  if (check(line, line.cases.check, part_of(*rest, 0, checks), true) && line.settings.time &&
      !line.cases.time.empty()) {
    time_it(line, timed);
  }
  ask_sanitizer(line);
}

}  // namespace

Evaluation evaluate_with(const Factory& factory, JobBuilder& jobs, const Candidate& candidate,
                         const EvaluationSettings& settings, std::stop_token stop) {
  Line line{factory, jobs, candidate, settings, stop, {}, {}, CostLog(factory.clock)};
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
