// SPDX-License-Identifier: Apache-2.0
#include "cliffs.h"

#include <algorithm>

#include "cases.h"
#include "jobs.h"
#include "neighbours.h"
#include "sweep.h"

namespace kf {
namespace {

constexpr std::int32_t kCases = 3;
constexpr std::int32_t kQuads = 2;
constexpr std::int64_t kBytes = 1LL << 30, kEmulatedBytes = 1LL << 20;
constexpr double kLaunch = 10'000;  // ns
constexpr double kWorthTelling = 3;

// Median of the candidate's times of a case; 0: it was not timed.
double candidate_time(const Measurement& measurement, const std::string& case_id) {
  for (const CaseTiming& timing : measurement.cases) {
    std::vector<double> times;
    for (const Sample& sample : timing.samples) {
      if (sample.arm == 0) {
        times.push_back(sample.nanoseconds);
      }
    }
    if (timing.case_id == case_id && timing.method != ClockMethod::kCupti && !times.empty()) {
      return median_interval(std::move(times)).median;
    }
  }
  return 0.0;
}

double work_ratio(const Spec& spec, const Case& of, const Case& timed) {
  const OrError<Work> own = work_of(spec, of), usual = work_of(spec, timed);
  if (!own || !usual) {
    return 1.0;
  }
  const auto ratio = [](std::int64_t a, std::int64_t b) {
    return b <= 0 ? 1.0 : static_cast<double>(a) / static_cast<double>(b);
  };
  return std::max({1.0, ratio(own->read_bytes + own->write_bytes, usual->read_bytes + usual->write_bytes),
                   ratio(own->flops, usual->flops)});
}

std::vector<Case> timed_cases(const Factory& factory, const Measurement& measurement) {
  std::vector<Case> timed;
  for (const std::string& id : screening_cases(*factory.spec, factory.facts, kCases)) {
    for (const auto& [set, cases] : factory.spec->cases) {
      const auto found = std::ranges::find(cases, id, [](const Case& of) { return of.id.value; });
      if (found != cases.end() && candidate_time(measurement, id) > 0) {
        timed.push_back(*found);
      }
    }
  }
  return timed;
}

std::string microseconds(double nanoseconds, ClockMethod method) {
  std::string text = std::to_string(1e-3 * nanoseconds);
  return text.substr(0, text.find('.') + 3) + " us" + (method == ClockMethod::kEstimate ? " (estimate)" : "");
}

Verdict cliff_at(const CloseNeighbour& near, const Case& timed, double time, double usual, double limit,
                 ClockMethod method) {
  Verdict verdict;
  verdict.passed = false;
  verdict.gate = Gate::kCliffs;
  verdict.reason = "cliff";
  verdict.case_id = near.neighbour.id.value;
  verdict.message =
      microseconds(time, method) + " on a neighbour of " + timed.id.value + ", which takes " +
      microseconds(usual, method) + "; the spec allows " + microseconds(limit, method) +
      ": sizes that are no multiple of a tile or a vector must not fall back to a path that is so much slower";
  return verdict;
}

}  // namespace

double cliff_limit(double factor, double timed_nanoseconds, double work_ratio, ClockMethod method) {
  return factor * timed_nanoseconds * work_ratio + (method == ClockMethod::kEstimate ? 0.0 : kLaunch);
}

std::optional<Verdict> look_for_cliffs(const Factory& factory, JobBuilder& jobs, const Candidate& candidate,
                                       const Assignment& tune, const Measurement& measurement,
                                       const EvaluationSettings& settings, CostLog& costs,
                                       std::vector<std::string>& notes, const std::stop_token& stop) {
  Verdict passed;
  passed.gate = Gate::kCliffs;
  const Spec& spec = *factory.spec;
  const std::vector<Case> timed = timed_cases(factory, measurement);
  const std::uint64_t seed = seed_for(settings.secret, Purpose::kConfirm, settings.variant, "cliffs", 0);
  const std::vector<CloseNeighbour> near =
      close_neighbours(spec, timed, seed, factory.facts.kind == "emulator" ? kEmulatedBytes : kBytes);
  if (near.empty()) {
    notes.emplace_back(std::string("cliffs were not looked for: no timed case that was executed has a neighbour ") +
                       (factory.facts.kind == "emulator" ? "small enough for the emulator" : "that may be made up"));
    return std::nullopt;
  }
  std::vector<Case> cases;
  for (const CloseNeighbour& one : near) {
    cases.push_back(one.neighbour);
  }
  const ClockMethod method = factory.facts.kind == "emulator" ? ClockMethod::kEstimate : ClockMethod::kEvents;
  const auto of_this_gate = [&](Verdict verdict) {
    verdict.message =
        "(" + std::string(to_string(verdict.gate)) + ", on a neighbour of a timed case) " + verdict.message;
    verdict.gate = Gate::kCliffs;
    const auto at =
        std::ranges::find(near, verdict.case_id, [](const CloseNeighbour& one) { return one.neighbour.id.value; });
    if (verdict.reason == "timeout" && at != near.end()) {  // a hang and a slow path look the same from here
      const Case& usual = timed[at->of];
      verdict.message +=
          "; " + usual.id.value + ", its neighbour, takes " +
          microseconds(candidate_time(measurement, usual.id.value), method) +
          ": where this is no hang, sizes that are no multiple of a tile or a vector fall back to a path "
          "that is slower beyond measure";
    }
    return verdict;
  };
  std::expected<Arm, Verdict> arm = jobs.arm("candidate", candidate, cases, tune, stop);
  if (!arm) {
    return of_this_gate(std::move(arm.error()));
  }
  std::vector<Arm> arms;
  arms.push_back(std::move(*arm));
  Job job = jobs.time_job(cases, std::move(arms), false, settings, stop);
  job.min_quads = job.max_quads = kQuads;
  std::expected<TimeReport, Verdict> report = run_time_job(factory, job, stop);
  if (!report || !report->verdict.passed) {
    return of_this_gate(report ? std::move(report->verdict) : std::move(report.error()));
  }
  costs.add_inside("cliffs", report->costs);
  for (const CloseNeighbour& one : near) {
    const Case& usual = timed[one.of];
    const double time = candidate_time(report->measurement, one.neighbour.id.value);
    const double before = candidate_time(measurement, usual.id.value);
    const double limit = cliff_limit(spec.limits.cliff, before, work_ratio(spec, one.neighbour, usual), job.method);
    if (time > limit) {
      return cliff_at(one, usual, time, before, limit, job.method);
    }
    if (time > kWorthTelling * before * work_ratio(spec, one.neighbour, usual)) {
      notes.push_back(one.neighbour.id.value + ", a neighbour of " + usual.id.value + ", takes " +
                      microseconds(time, job.method) + " instead of " + microseconds(before, job.method) +
                      ": within the limit, but a step");
    }
  }
  passed.checks = report->verdict.checks;
  return passed;
}

}  // namespace kf
