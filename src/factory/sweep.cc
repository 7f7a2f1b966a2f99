// SPDX-License-Identifier: Apache-2.0
#include "sweep.h"

#include <algorithm>
#include <limits>

#include "stop.h"
#include "tune_times.h"

namespace kf {
namespace {

constexpr std::size_t kSweepCases = 2;   // timed cases that a sweep decides on
constexpr std::int32_t kSweepQuads = 6;  // enough to rank points; the winner is measured properly afterwards

Verdict blamed(const Fault& fault, Gate gate) {
  if (fault.kind == Fault::Kind::kRig) {
    throw RigFailed{fault};
  }
  Verdict verdict;
  verdict.passed = false;
  verdict.gate = gate;
  verdict.reason = fault.reason;
  verdict.message = fault.what;
  return verdict;
}

Outcome run_job(const Factory& factory, const Job& job, const std::stop_token& stop) {
  throw_if_stopped(stop);
  Outcome outcome = factory.rig->run(job, stop);
  throw_if_stopped(stop);  // a job cut short by a stop says nothing
  return outcome;
}

[[noreturn]] void wrong_answer() {
  throw RigFailed{{Fault::Kind::kRig, "protocol", "the worker answered with another kind of outcome than the job's"}};
}

std::string nanoseconds_text(double nanoseconds) {
  return nanoseconds < 1e18 ? std::to_string(static_cast<std::int64_t>(nanoseconds)) + " ns" : "no samples";
}

// Why a tune point does not meet the GPU. The chosen one's limits and further cases are the evaluation's business, and
// so is all of it where every gate is to be heard.
std::optional<Verdict> refused_by_emulator(JobBuilder& jobs, const Candidate& candidate, const Assignment& tune,
                                           const std::vector<Case>& probes, const EvaluationSettings& settings,
                                           CostLog* costs, const std::stop_token& stop) {
  const std::vector<Case> cases = small_enough_for_emulator_first(probes);
  if (jobs.emulator_first() == nullptr || cases.empty() || settings.keep_going) {
    return std::nullopt;
  }
  CostLog unheard(nullptr);
  std::vector<std::string> said_again_later;
  return (costs == nullptr ? unheard : *costs).during("emulator", [&] {
    return jobs.emulator_first()->refusal(candidate, tune, cases, settings, said_again_later, stop);
  });
}

struct Point {
  std::int32_t index = 0;
  Assignment tune;
  Arm probe;
  std::vector<Verdict> audited;
};

// The fastest point by the geometric mean over the first timed cases; `points` keeps those that ran.
std::size_t fastest_of(const Factory& factory, JobBuilder& jobs, const Candidate& candidate, const ChosenCases& cases,
                       const EvaluationSettings& settings, std::vector<Point>& points, Sweep& sweep,
                       const std::stop_token& stop) {
  const auto count = static_cast<std::ptrdiff_t>(std::min(kSweepCases, cases.time.size()));
  const std::vector<Case> timed(cases.time.begin(), cases.time.begin() + count);
  std::vector<Assignment> assignments;
  for (const Point& point : points) {
    assignments.push_back(point.tune);
  }
  TuneTimes times =
      time_tune_points(factory, jobs, candidate, timed, std::move(assignments), kSweepQuads, settings, stop);
  std::ranges::move(times.notes, std::back_inserter(sweep.notes));
  if (times.points.empty()) {
    return 0;  // the evaluation itself finds out what is wrong with the first one
  }
  std::erase_if(points,
                [&](const Point& point) { return std::ranges::find(times.points, point.tune) == times.points.end(); });
  std::size_t best = 0;
  double least = std::numeric_limits<double>::infinity();
  for (std::size_t at = 0; at < points.size() && points.size() > 1; ++at) {
    const double mean = geomean(times.nanoseconds[at]);
    sweep.notes.push_back("swept " + words(points[at].tune) + ": " + nanoseconds_text(mean) +
                          (factory.facts.kind == "emulator" ? " (estimate)" : ""));
    best = mean < least ? at : best;
    least = std::min(mean, least);
  }
  return best;
}

}  // namespace

CheckReport run_check_report(const Factory& factory, const Job& job, std::stop_token stop) {
  Outcome outcome = run_job(factory, job, stop);
  if (const Fault* fault = std::get_if<Fault>(&outcome)) {
    return {blamed(*fault, Gate::kCheck), {}};
  }
  if (CheckReport* report = std::get_if<CheckReport>(&outcome)) {
    return std::move(*report);
  }
  wrong_answer();
}

Verdict run_check_job(const Factory& factory, const Job& job, std::stop_token stop) {
  return run_check_report(factory, job, std::move(stop)).verdict;
}

void require_all_cases(const Job& job, const TimeReport& report) {
  const bool all = std::ranges::equal(
      job.cases, report.measurement.cases, {}, [](const Case& of) -> const std::string& { return of.id.value; },
      &CaseTiming::case_id);
  if (report.verdict.passed && !all) {
    throw RigFailed{{Fault::Kind::kRig, "protocol",
                     "the worker answered a timing job of " + std::to_string(job.cases.size()) + " cases with " +
                         std::to_string(report.measurement.cases.size()) +
                         " timings; allowed is one a case, in the job's order"}};
  }
}

std::expected<TimeReport, Verdict> run_time_job(const Factory& factory, const Job& job, std::stop_token stop) {
  Outcome outcome = run_job(factory, job, stop);
  if (const Fault* fault = std::get_if<Fault>(&outcome)) {
    return std::unexpected(blamed(*fault, Gate::kTimedRun));
  }
  if (TimeReport* report = std::get_if<TimeReport>(&outcome)) {
    require_all_cases(job, *report);
    return std::move(*report);
  }
  wrong_answer();
}

Sweep sweep_tune(const Factory& factory, JobBuilder& jobs, const Candidate& candidate, const ChosenCases& cases,
                 const EvaluationSettings& settings, std::stop_token stop, CostLog* costs) {
  Sweep sweep;
  std::vector<Assignment> assignments = tune_points(candidate.plan);
  const auto limit = static_cast<std::size_t>(std::max(settings.max_variants, 1));
  if (assignments.size() > limit) {
    sweep.notes.push_back(std::to_string(assignments.size()) + " tune points; the first " + std::to_string(limit) +
                          " were tried");
    assignments.resize(limit);
  }
  if (settings.tune) {
    assignments = {*settings.tune};
  }
  const std::vector<Case>& probe_cases = cases.probe.empty() ? cases.time : cases.probe;
  const bool swept = assignments.size() > 1 && factory.rig != nullptr;
  std::vector<Point> points;
  std::optional<Verdict> first_refusal;
  std::optional<Point> built_though_wrong;  // the first such
  for (std::size_t i = 0; i < assignments.size(); ++i) {
    ++sweep.tried;
    std::vector<Verdict> audited;
    std::expected<Arm, Verdict> arm = jobs.arm("candidate", candidate, probe_cases, assignments[i], stop, costs,
                                               settings.keep_going ? &audited : nullptr);
    std::optional<Verdict> refusal = arm ? std::nullopt : std::optional(arm.error());
    if (arm && swept) {
      refusal = refused_by_emulator(jobs, candidate, assignments[i], cases.probe, settings, costs, stop);
    }
    if (arm && swept && !refusal && !cases.probe.empty()) {
      Verdict verdict = run_check_job(
          factory,
          jobs.check_job(cases.probe, *arm, check_points(*factory.spec, cases.probe, false, Purpose::kCheck, settings),
                         stop),
          stop);
      refusal = verdict.passed ? std::nullopt : std::optional(std::move(verdict));
    }
    if (refusal) {
      sweep.notes.push_back(assignments.size() > 1 ? "refused " + words(assignments[i]) + ": " + refusal->reason : "");
      first_refusal = first_refusal ? first_refusal : refusal;
      if (arm && !built_though_wrong) {
        built_though_wrong = {static_cast<std::int32_t>(i), assignments[i], std::move(*arm), std::move(audited)};
      }
      continue;
    }
    points.push_back({static_cast<std::int32_t>(i), assignments[i], std::move(*arm), std::move(audited)});
    if (!swept) {
      break;  // nothing to choose by
    }
  }
  std::erase(sweep.notes, "");
  if (points.empty() && settings.keep_going && built_though_wrong) {
    sweep.notes.push_back("no tune point is right: the gates after the check go on with " +
                          words(built_though_wrong->tune));
    points.push_back(std::move(*built_though_wrong));  // the evaluation's own check finds its refusal again
  }
  if (points.empty()) {
    sweep.probe = std::unexpected(std::move(*first_refusal));
    return sweep;
  }
  if (assignments.size() > 1 && factory.rig == nullptr) {
    sweep.notes.emplace_back("tune points were not swept: there is no device; the first that builds was taken");
  }
  const bool choose = points.size() > 1 && settings.time && !cases.time.empty();
  Point& best = points[choose ? fastest_of(factory, jobs, candidate, cases, settings, points, sweep, stop) : 0];
  sweep.tune = std::move(best.tune);
  sweep.variant = best.index;
  sweep.probe = std::move(best.probe);
  sweep.audited = std::move(best.audited);
  return sweep;
}

}  // namespace kf
