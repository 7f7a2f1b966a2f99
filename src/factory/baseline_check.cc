// SPDX-License-Identifier: Apache-2.0
#include "baseline_check.h"

#include <algorithm>

#include "cases.h"
#include "jobs.h"
#include "sweep.h"

namespace kf {

std::vector<BaselineFailure> BaselineCheck::failures(const Factory& factory, JobBuilder& jobs,
                                                     const std::vector<Case>& cases, const EvaluationSettings& settings,
                                                     const std::stop_token& stop) {
  const std::lock_guard lock(mutex_);
  std::vector<BaselineFailure> found;
  for (const JobBuilder::Baseline& baseline : jobs.baselines()) {
    std::vector<Case> open;
    for (const Case& of : cases) {
      if (!checked_.contains({baseline.name, of.id.value})) {
        open.push_back(of);
      }
    }
    const Candidate tuned =
        jobs.baseline_tuning().settled(factory, jobs, baseline.name, baseline.candidate, settings, stop);
    const Assignment first = tune_points(tuned.plan).front();
    std::expected<Arm, Verdict> arm = jobs.arm("baseline:" + baseline.name, tuned, open, first, stop);
    if (!open.empty() && arm) {  // one that does not build is the timing job's to report
      Job job = jobs.check_job(open, std::move(*arm),
                               check_points(*factory.spec, open, false, Purpose::kCheck, settings), stop);
      job.keep_going = true;
      const CheckReport report = run_check_report(factory, job, stop);
      for (const Case& of : open) {
        std::optional<std::string>& why = checked_[{baseline.name, of.id.value}];
        const auto wrong =
            std::ranges::find_if(report.all, [&](const Verdict& v) { return !v.passed && v.case_id == of.id.value; });
        const Verdict* said = wrong != report.all.end()                      ? &*wrong
                              : report.all.empty() && !report.verdict.passed ? &report.verdict  // it ended the job
                                                                             : nullptr;
        why = said == nullptr ? std::nullopt : std::optional(said->reason + ": " + said->message);
      }
    }
    for (const Case& of : cases) {
      const auto known = checked_.find({baseline.name, of.id.value});
      if (known != checked_.end() && known->second) {
        found.push_back({baseline.name, of.id.value, *known->second});
      }
    }
  }
  return found;
}

void drop_failing_baselines(Measurement& measurement, const std::vector<BaselineFailure>& failures) {
  for (CaseTiming& timing : measurement.cases) {
    for (const BaselineFailure& failure : failures) {
      const std::string arm = "baseline:" + failure.baseline;
      if (failure.case_id != timing.case_id || std::ranges::find(timing.arms, arm) == timing.arms.end()) {
        continue;
      }
      std::erase_if(timing.samples, [&](const Sample& sample) {
        const std::string& of = timing.arms.at(static_cast<std::size_t>(sample.arm));
        return of == arm || of == arm + std::string(kAgainSuffix) || of == arm + std::string(kApartSuffix);
      });
      std::string note = "baseline " + failure.baseline + std::string(kDoesNotCount) + failure.message;
      if (std::ranges::find(timing.notes, note) == timing.notes.end()) {
        timing.notes.push_back(std::move(note));
      }
    }
  }
}

}  // namespace kf
