// SPDX-License-Identifier: Apache-2.0
#include "sweep.h"

#include <algorithm>
#include <limits>

#include "stop.h"

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

std::string words(const Assignment& tune) {
  std::string text;
  for (const auto& [name, value] : tune) {
    text += (text.empty() ? "" : " ") + name + "=" + std::to_string(value);
  }
  return text;
}

std::string nanoseconds_text(double nanoseconds) {
  return nanoseconds < 1e18 ? std::to_string(static_cast<std::int64_t>(nanoseconds)) + " ns" : "no samples";
}

struct Point {
  std::int32_t index = 0;
  Assignment tune;
  Arm probe;
};

// Geometric mean over the cases of each arm's median; arms without samples are infinitely slow.
std::vector<double> times_of(const Measurement& measurement, std::size_t arms) {
  std::vector<double> times(arms, 0);
  for (std::size_t arm = 0; arm < arms; ++arm) {
    std::vector<double> medians;
    for (const CaseTiming& timing : measurement.cases) {
      std::vector<double> nanoseconds;
      for (const Sample& sample : timing.samples) {
        if (sample.arm == static_cast<std::int32_t>(arm)) {
          nanoseconds.push_back(sample.nanoseconds);
        }
      }
      if (!nanoseconds.empty()) {
        medians.push_back(median_interval(std::move(nanoseconds)).median);
      }
    }
    times[arm] = medians.size() == measurement.cases.size() && !medians.empty()
                     ? geomean(medians)
                     : std::numeric_limits<double>::infinity();
  }
  return times;
}

// The points that build for the timed cases, as arms. Every arm of such a job is judged: none is trusted.
std::vector<Arm> timed_arms(JobBuilder& jobs, const Candidate& candidate, const std::vector<Case>& timed,
                            std::vector<Point>& points, Sweep& sweep, const std::stop_token& stop) {
  std::vector<Arm> arms;
  std::erase_if(points, [&](const Point& point) {
    auto arm = jobs.arm("variant:" + std::to_string(point.index), candidate, timed, point.tune, stop);
    if (!arm) {
      sweep.notes.push_back("refused " + words(point.tune) + ": " + arm.error().message);
      return true;
    }
    arms.push_back(std::move(*arm));
    return false;
  });
  return arms;
}

// One job over these arms: their times, or whom it refused and why.
struct Refused {
  std::optional<std::size_t> arm;  // nullopt: nobody can tell
  std::string reason;
};
std::expected<std::vector<double>, Refused> time_arms(const Factory& factory, JobBuilder& jobs,
                                                      const std::vector<Case>& timed, const std::vector<Arm>& arms,
                                                      const EvaluationSettings& settings, const std::stop_token& stop) {
  Job job = jobs.time_job(timed, arms, false, settings, stop);
  job.min_quads = job.max_quads = kSweepQuads;
  const std::expected<TimeReport, Verdict> report = run_time_job(factory, job, stop);
  if (report && report->verdict.passed) {
    return times_of(report->measurement, arms.size());
  }
  const bool told = report && report->arm >= 0 && static_cast<std::size_t>(report->arm) < arms.size();
  const bool alone = arms.size() == 1;
  return std::unexpected(Refused{alone  ? std::optional<std::size_t>(0)
                                 : told ? std::optional(static_cast<std::size_t>(report->arm))
                                        : std::nullopt,
                                 report ? report->verdict.reason : report.error().reason});
}

// All points in one job, interleaved: they meet the same clocks and temperatures. The point that a refusal names leaves
// `points`, and the rest is timed again; where it names none, each is timed alone, and those that are refused alone
// leave. Should the others still not run beside each other, the times that they had alone decide.
std::size_t fastest_of(const Factory& factory, JobBuilder& jobs, const Candidate& candidate, const ChosenCases& cases,
                       const EvaluationSettings& settings, std::vector<Point>& points, Sweep& sweep,
                       const std::stop_token& stop) {
  const auto count = static_cast<std::ptrdiff_t>(std::min(kSweepCases, cases.time.size()));
  const std::vector<Case> timed(cases.time.begin(), cases.time.begin() + count);
  const Point fallback = points.front();
  std::vector<Arm> arms = timed_arms(jobs, candidate, timed, points, sweep, stop);
  const auto leaves = [&](std::size_t at, const std::string& reason) {
    sweep.notes.push_back("refused " + words(points[at].tune) + ": " + reason);
    points.erase(points.begin() + static_cast<std::ptrdiff_t>(at));
    arms.erase(arms.begin() + static_cast<std::ptrdiff_t>(at));
  };
  std::vector<double> times;
  for (bool settled = false; points.size() > 1 && !settled;) {
    auto together = time_arms(factory, jobs, timed, arms, settings, stop);
    if (together) {
      times = std::move(*together);
      settled = true;
    } else if (together.error().arm) {
      leaves(*together.error().arm, together.error().reason);
    } else {
      const std::size_t before = points.size();
      times.clear();
      for (std::size_t at = 0; at < points.size();) {
        const auto alone = time_arms(factory, jobs, timed, {arms[at]}, settings, stop);
        if (alone) {
          times.push_back(alone->front());
          ++at;
        } else {
          leaves(at, alone.error().reason);
        }
      }
      settled = points.size() == before;
      if (settled) {
        sweep.notes.push_back("tune points could not be timed beside each other (" + together.error().reason +
                              "); each was timed alone");
      }
    }
  }
  if (points.empty()) {
    points.push_back(fallback);  // the evaluation itself finds out what is wrong with it
  }
  if (points.size() == 1 || times.size() != points.size()) {
    return 0;
  }
  for (std::size_t at = 0; at < points.size(); ++at) {
    sweep.notes.push_back("swept " + words(points[at].tune) + ": " + nanoseconds_text(times[at]));
  }
  return static_cast<std::size_t>(std::ranges::min_element(times) - times.begin());
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

std::expected<TimeReport, Verdict> run_time_job(const Factory& factory, const Job& job, std::stop_token stop) {
  Outcome outcome = run_job(factory, job, stop);
  if (const Fault* fault = std::get_if<Fault>(&outcome)) {
    return std::unexpected(blamed(*fault, Gate::kTimedRun));
  }
  if (TimeReport* report = std::get_if<TimeReport>(&outcome)) {
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
  for (std::size_t i = 0; i < assignments.size(); ++i) {
    ++sweep.tried;
    std::expected<Arm, Verdict> arm = jobs.arm("candidate", candidate, probe_cases, assignments[i], stop, costs);
    std::optional<Verdict> refusal = arm ? std::nullopt : std::optional(arm.error());
    if (arm && swept && !cases.probe.empty()) {
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
      continue;
    }
    points.push_back({static_cast<std::int32_t>(i), assignments[i], std::move(*arm)});
    if (!swept) {
      break;  // nothing to choose by
    }
  }
  std::erase(sweep.notes, "");
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
  return sweep;
}

}  // namespace kf
