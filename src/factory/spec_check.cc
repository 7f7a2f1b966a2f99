// SPDX-License-Identifier: Apache-2.0
#include "spec_check.h"

#include <algorithm>
#include <iterator>

#include "cases.h"
#include "jobs.h"
#include "spec_gaps.h"
#include "stop.h"

namespace kf {
namespace {

// Candidates meet the emulator before the GPU, so the baseline has to pass there too.
std::optional<AdmissionRow> row_of_emulator_first(const Spec& spec, JobBuilder& jobs, const JobBuilder::Baseline& naive,
                                                  const EvaluationSettings& settings, const std::stop_token& stop) {
  if (jobs.emulator_first() == nullptr) {
    return std::nullopt;
  }
  std::vector<std::string> notes;
  const std::optional<Verdict> refusal =
      jobs.emulator_first()->refusal(naive.candidate, tune_points(naive.candidate.plan).front(),
                                     cases_for_emulator_first(spec, settings), settings, notes, stop);
  const std::string found = refusal         ? refusal->case_id + ": " + refusal->message
                            : notes.empty() ? "nothing was found"
                                            : notes.front();
  return AdmissionRow{"baseline " + naive.name + " on the emulator", "passes",
                      found + (refusal ? "; candidates run there before they meet the GPU (--emulator-first false: "
                                         "they do not)"
                                       : ""),
                      !refusal};
}

Admission not_run(NotRun kind, std::string why) {
  return {std::nullopt, kind, std::move(why)};
}

Admission admit_with(const Factory& factory, JobBuilder& jobs, const std::stop_token& stop) {
  if (factory.rig == nullptr) {
    return not_run(NotRun::kNoDevice, "there is no device");
  }
  if (jobs.baselines().empty()) {
    return not_run(NotRun::kSpec,
                   "the spec has no CUDA baseline to hold null candidates against; add a plain kernel that is right to "
                   "\"baselines\"");
  }
  EvaluationSettings settings;
  ChosenCases chosen = choose_cases(*factory.spec, factory.facts, settings);
  std::vector<Case> cases = std::move(chosen.probe);
  const std::size_t probed = cases.size();
  std::ranges::move(chosen.check, std::back_inserter(cases));
  std::vector<CheckPoint> points = check_points(*factory.spec, cases, true, Purpose::kAdmit, settings);
  std::vector<CheckPoint> influence = influence_points(*factory.spec, factory.facts, settings, cases);
  const JobBuilder::Baseline& naive = jobs.baselines().front();
  std::expected<Arm, Verdict> arm =
      jobs.arm("baseline:" + naive.name, naive.candidate, cases, tune_points(naive.candidate.plan).front(), stop);
  if (!arm) {
    return not_run(NotRun::kSpec, "the baseline " + naive.name + " was refused: " + arm.error().message);
  }
  const Job job = jobs.admission_job(cases, probed, std::move(*arm), std::move(points), std::move(influence), stop);
  Outcome outcome = factory.rig->run(job, stop);
  if (AdmissionReport* report = std::get_if<AdmissionReport>(&outcome)) {
    for (AdmissionRow& row : timed_among_checked(*factory.spec, factory.facts)) {
      report->admitted = report->admitted && row.ok;
      report->rows.push_back(std::move(row));
    }
    if (std::optional<AdmissionRow> row = row_of_emulator_first(*factory.spec, jobs, naive, settings, stop)) {
      report->admitted = report->admitted && row->ok;
      report->rows.push_back(std::move(*row));
    }
    return {std::move(*report), NotRun::kNo, ""};
  }
  throw_if_stopped(stop);
  const Fault* fault = std::get_if<Fault>(&outcome);
  return not_run(NotRun::kRig, fault != nullptr ? fault->reason + ": " + fault->what
                                                : "the worker gave another answer than a report");
}

}  // namespace

SpecCheck check_spec(const Factory& factory, std::int32_t compile_jobs, std::stop_token stop) {
  SpecCheck result;
  const Spec& spec = *factory.spec;
  std::vector<Case> all;
  for (const auto& [set, cases] : spec.cases) {
    all.insert(all.end(), cases.begin(), cases.end());
  }
  result.cases = static_cast<std::int64_t>(all.size());
  try {
    JobBuilder jobs(factory, compile_jobs);
    for (const Case& of : all) {
      jobs.build_reference(of, stop);
    }
    result.built.push_back("reference " + spec.reference.cuda.path);
    for (const JobBuilder::Baseline& baseline : jobs.baselines()) {
      const auto arm =
          jobs.arm(baseline.name, baseline.candidate, all, tune_points(baseline.candidate.plan).front(), stop);
      if (arm) {
        result.built.push_back("baseline " + baseline.name + " (" + std::to_string(arm->builds.size()) + " builds)");
      } else {
        result.problems.push_back("baseline " + baseline.name + ", case " + arm.error().case_id + ": " +
                                  std::string(to_string(arm.error().gate)) + ": " + arm.error().message);
      }
    }
    if (result.problems.empty()) {
      result.admission = admit_with(factory, jobs, stop);
    }
  } catch (const Interrupted&) {
    result.problems.emplace_back("interrupted");
  } catch (const Fatal& fatal) {
    result.problems.emplace_back(fatal.what());
  }
  result.warnings =
      spec_gaps(spec, result.admission.report ? result.admission.report->ranges : std::vector<OutputRange>());
  return result;
}

Admission admit(const Factory& factory, std::int32_t compile_jobs, std::stop_token stop) {
  try {
    JobBuilder jobs(factory, compile_jobs);
    return admit_with(factory, jobs, stop);
  } catch (const Interrupted&) {
    return not_run(NotRun::kInterrupted, "interrupted");
  }
}

}  // namespace kf
