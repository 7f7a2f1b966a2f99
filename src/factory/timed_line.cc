// SPDX-License-Identifier: Apache-2.0
// The part of an evaluation that has to do with time.
#include <algorithm>

#include "cliffs.h"
#include "evaluation_line.h"
#include "kernel_records.h"
#include "physics.h"
#include "sabotage.h"
#include "scaled_estimates.h"
#include "score.h"
#include "stop.h"
#include "sweep.h"

namespace kf {
namespace {

// What the settings name as champion, built for these cases. The caller has looked whether they name one.
std::expected<Arm, Verdict> champion_arm(EvaluationLine& line, const std::vector<Case>& cases) {
  return line.jobs.arm("champion", *line.settings.champion, cases, line.settings.champion_tune, line.stop);
}

// The candidate, and the champion where it builds.
std::vector<Arm> timed_arms(EvaluationLine& line, Arm timed) {
  std::vector<Arm> arms;
  arms.push_back(std::move(timed));
  if (line.settings.champion) {
    auto champion = champion_arm(line, line.cases.time);
    if (champion) {
      arms.push_back(std::move(*champion));
    } else {
      line.result.notes.push_back("the champion was not timed beside it: " + champion.error().message);
    }
  }
  return arms;
}

std::expected<TimeReport, Verdict> run_timed(EvaluationLine& line, const Job& job) {
  auto report = line.costs.during("timing", [&] { return run_time_job(line.factory, job, line.stop); });
  if (report) {
    line.costs.add_inside("timing", report->costs);
  }
  return report;
}

// A refusal that may be the champion's is put to the test: the candidate is timed again without it. `job` is then what
// was timed.
std::expected<TimeReport, Verdict> time_beside_champion(EvaluationLine& line, Job& job) {
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
bool add_kernel_records(EvaluationLine& line, const Job& job) {
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

Score rescored(const EvaluationLine& line) {
  return score_of(*line.factory.spec, line.factory.facts, *line.result.measurement, line.settings.margin);
}

// Counters where a time is faster than physics, which they may explain or refute, and of a confirmation for some of the
// other timed cases (counted_cases): evidence of what the kernel moves. False: it is refused.
bool add_counters(EvaluationLine& line, const Job& job) {
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
  Verdict verdict = passed_gate(Gate::kPhysics);
  if (const auto left = std::ranges::count_if(score.cases, &CaseScore::suspect); left > 0) {
    verdict.reason = "suspect";
    verdict.message = std::to_string(left) + " timed cases are faster than physics allows and do not count";
  }
  return line.accept(std::move(verdict));
}

// What the candidate did to the arms beside it.
bool unharmed(EvaluationLine& line) {
  std::optional<Verdict> sabotage = sabotage_in(*line.result.measurement, line.settings.margin);
  return !sabotage || line.accept(std::move(*sabotage));
}

void note_python_baselines(EvaluationLine& line) {
  for (const BaselineSpec& baseline : line.factory.spec->baselines) {
    if (baseline.kind == BaselineSpec::Kind::kPython) {
      line.result.notes.push_back("baseline " + baseline.name + " was not run: python baselines are not supported yet");
    }
  }
}

// The control refuses a case in which equal code took unequal time. By chance that happens to one case in some dozens,
// to the same one twice in a row hardly ever: those cases are timed once more, in a process and with contents of their
// own, and what comes out then stands.
std::expected<TimeReport, Verdict> time_beside_control(EvaluationLine& line, Job& job) {
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
bool no_cliffs(EvaluationLine& line) {
  if (!(line.settings.confirm || line.settings.cliffs) || line.factory.spec->limits.cliff == 0) {
    return true;
  }
  std::optional<Verdict> verdict = line.costs.during("cliffs", [&] {
    return look_for_cliffs(line.factory, line.jobs, line.candidate, line.result.tune, *line.result.measurement,
                           line.settings, line.costs, line.result.notes, line.stop);
  });
  if (!verdict) {  // nothing was looked at: no verdict either
    return true;
  }
  const bool passed_cliffs = verdict->passed;
  return line.accept(std::move(*verdict)) && passed_cliffs;
}

// An emulator runs small cases. What it counted is scaled to the timed ones, which the score is then about; they are
// compiled and planned like on a GPU. False: there the candidate is refused.
bool add_scaled_estimates(EvaluationLine& line) {
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
    if (auto champion = champion_arm(line, timed)) {
      arms.push_back(std::move(*champion));
    }
  }
  Measurement& measurement = *line.result.measurement;
  std::ranges::move(
      scaled_estimates(*line.factory.spec, line.factory.facts, measurement, timed, arms, line.result.notes),
      std::back_inserter(measurement.cases));
  return true;
}

}  // namespace

bool time_it(EvaluationLine& line, Arm timed) {
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
  drop_failing_baselines(*line.result.measurement, wrong);  // one that is wrong is no witness either
  if (!line.accept(std::move(report->verdict)) || !timed_right || !unharmed(line) || !add_kernel_records(line, job)) {
    return false;
  }
  drop_failing_baselines(*line.result.measurement, wrong);  // from the kernel records
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

}  // namespace kf
