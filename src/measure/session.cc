// SPDX-License-Identifier: Apache-2.0
#include "measure/session.h"

#include "measure/case_session.h"

namespace kf {
namespace {

// Share of a job's deadline after which no further quads are begun: the answer has to get home.
constexpr double kUsableShare = 0.85;

std::optional<Fault> not_a_timing_job(const Job& job) {
  const auto wrong = [](std::string what) { return Fault{Fault::Kind::kRig, "garbage", "the job " + std::move(what)}; };
  if (job.arms.empty()) {
    return wrong("has no arm to time");
  }
  for (const Arm& arm : job.arms) {
    if (arm.plans.size() != job.cases.size() || (!arm.own_cases.empty() && arm.own_cases.size() != job.cases.size())) {
      return wrong("must give arm " + arm.name + " one plan a case");
    }
  }
  return std::nullopt;
}

double seconds(std::chrono::steady_clock::duration time) {
  return std::chrono::duration<double>(time).count();
}

TimeReport time_all(Bench& bench, const Job& job, const Clock& clock, const std::function<void(bool)>& candidate) {
  const auto start = clock.now();
  BusyTime busy(clock);
  Reference reference(bench, job);
  SessionParts parts{bench, job, reference, busy, candidate, [&](std::int32_t index) {
                       const double share = (index + 1.0) / static_cast<double>(job.cases.size());
                       return seconds(clock.now() - start) > kUsableShare * share * seconds(job.deadline);
                     }};
  TimeReport report;
  report.verdict.gate = Gate::kTimedRun;
  report.measurement.device = bench.device().facts().name;
  report.measurement.driver = bench.device().facts().driver;
  double in_arms = 0;
  for (std::int32_t index = 0; index < static_cast<std::int32_t>(job.cases.size()) && report.verdict.passed; ++index) {
    CaseResult result = CaseSession(parts, index).run();
    report.verdict.checks += result.timing.verified;
    if (result.refusal) {
      report.verdict = *std::move(result.refusal);
      report.arm = result.refused_arm;
    }
    for (const Sample& sample : result.timing.samples) {
      in_arms += 1e-9 * sample.nanoseconds;
    }
    report.measurement.cases.push_back(std::move(result.timing));
  }
  const double wall = seconds(clock.now() - start);
  if (wall > 0 && job.method != ClockMethod::kEstimate) {
    report.measurement.device_busy_share = busy.total().count() / wall;
    report.measurement.arms_share = in_arms / wall;
  }
  return report;
}

}  // namespace

std::expected<TimeReport, Fault> run_time(Device& device, const Job& job, const Clock& clock,
                                          const std::function<void(bool candidate)>& candidate) {
  if (auto fault = not_a_timing_job(job)) {
    return std::unexpected(*std::move(fault));
  }
  Bench bench(device);
  try {
    return time_all(bench, job, clock, candidate);
  } catch (const RigFailure& failure) {
    return std::unexpected(failure.fault);
  }
}

}  // namespace kf
