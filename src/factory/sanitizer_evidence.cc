// SPDX-License-Identifier: Apache-2.0
#include "sanitizer_evidence.h"

#include <algorithm>

#include "cases.h"
#include "stop.h"

namespace kf {
namespace {

constexpr std::int64_t kLargestBytes = 256 << 10;
constexpr std::chrono::milliseconds kToolLimit{60'000};

std::string counted(std::int64_t count, const char* noun) {
  return std::to_string(count) + " " + noun + (count == 1 ? "" : "s");
}

}  // namespace

std::vector<Case> sanitizer_cases(const std::vector<Case>& checked) {
  std::vector<Case> sorted;
  std::ranges::copy_if(checked, std::back_inserter(sorted), [](const Case& of) { return elements_of(of) > 0; });
  std::ranges::stable_sort(sorted, {}, bytes_of);
  const auto small = std::ranges::upper_bound(sorted, kLargestBytes, {}, bytes_of);
  const auto count = small - sorted.begin();
  if (count == 0) {
    sorted.resize(std::min<std::size_t>(sorted.size(), 1));
    return sorted;
  }
  return {small - std::min<std::ptrdiff_t>(count, 2), small};
}

SanitizerReport ask_sanitizer(const Factory& factory, JobBuilder& jobs, const Candidate& candidate,
                              const std::vector<Case>& checked, const Assignment& tune,
                              const EvaluationSettings& settings, CostLog& costs, std::stop_token stop) {
  SanitizerReport report;
  const std::vector<Case> cases = sanitizer_cases(checked);
  if (cases.empty()) {
    report.not_run = "there is no small check case";
    return report;
  }
  std::expected<Arm, Verdict> arm = jobs.arm("candidate", candidate, cases, tune, stop);
  if (!arm) {
    report.not_run = arm.error().message;
    return report;
  }
  Job job = jobs.check_job(cases, std::move(*arm),
                           check_points(*factory.spec, cases, false, Purpose::kConfirm, settings), stop);
  job.kind = Job::Kind::kSanitize;
  job.tool_limit = kToolLimit;
  job.launch_deadline = kToolLimit / 2;
  job.deadline = 4 * kToolLimit + std::chrono::seconds(30);
  Outcome outcome = costs.during("compute-sanitizer", [&] { return factory.rig->run(job, stop); });
  throw_if_stopped(stop);
  if (auto* found = std::get_if<SanitizerReport>(&outcome)) {
    for (const ToolRun& run : found->tools) {
      costs.add({"compute-sanitizer: " + run.tool, run.milliseconds, 1});
    }
    return std::move(*found);
  }
  const auto* fault = std::get_if<Fault>(&outcome);
  report.not_run = fault != nullptr ? fault->reason + ": " + fault->what : "the worker answered with another outcome";
  return report;
}

std::vector<std::string> lines_of(const SanitizerReport& report) {
  std::vector<std::string> lines;
  if (!report.not_run.empty()) {
    lines.push_back("compute-sanitizer was not run: " + report.not_run);
  }
  for (const ToolRun& run : report.tools) {
    lines.push_back("compute-sanitizer " + run.version + " " + run.tool + ": " +
                    (run.ran ? counted(run.errors, "error") + ", " + counted(run.warnings, "warning")
                             : "did not run to its end (" + run.text.substr(0, run.text.find('\n')) + ")"));
  }
  return lines;
}

}  // namespace kf
