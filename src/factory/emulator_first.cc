// SPDX-License-Identifier: Apache-2.0
#include "emulator_first.h"

#include <algorithm>
#include <chrono>
#include <variant>

#include <kfactory/device.h>

#include "cases.h"
#include "jobs.h"
#include "stop.h"

namespace kf {
namespace {

// For what spins until its steps are spent: others wait behind it, and it refuses nobody. Usual are 0.03 to 0.2 s.
constexpr std::chrono::milliseconds kScreenTime{5'000}, kConfirmTime{120'000};

Factory with_emulator_as_device(const Factory& factory) {
  Factory made;
  made.spec = factory.spec;
  made.facts = factory.emulator->facts();
  made.compiler = factory.compiler;
  made.rig = factory.emulator;
  made.clock = factory.clock;
  return made;
}

// What says something about this device and not about the candidate.
bool refuses_nobody(const Verdict& verdict) {
  static constexpr DeviceFault::Kind kOfTheDevice[] = {DeviceFault::Kind::kUnsupported, DeviceFault::Kind::kTimeout,
                                                       DeviceFault::Kind::kOutOfMemory,
                                                       DeviceFault::Kind::kLaunchRefused, DeviceFault::Kind::kLost};
  return verdict.gate < Gate::kCheck ||
         std::ranges::any_of(kOfTheDevice, [&](DeviceFault::Kind kind) { return verdict.reason == to_string(kind); });
}

std::string could_not_tell(const std::string& why) {
  constexpr std::size_t kMost = 300;
  return "the emulator, which goes first, could not tell: " + why.substr(0, kMost) + (why.size() > kMost ? "..." : "");
}

}  // namespace

EmulatorFirst::EmulatorFirst(const Factory& factory, std::int32_t compile_jobs,
                             std::counting_semaphore<>& compile_slots)
    : emulated_(with_emulator_as_device(factory)),
      jobs_(std::make_unique<JobBuilder>(emulated_, compile_jobs, &compile_slots)) {}
EmulatorFirst::~EmulatorFirst() = default;

std::optional<Verdict> EmulatorFirst::refusal(const Candidate& candidate, const Assignment& tune,
                                              const std::vector<Case>& cases, const EvaluationSettings& settings,
                                              std::vector<std::string>& notes, const std::stop_token& stop) {
  if (cases.empty()) {
    notes.push_back(could_not_tell("no check case is small enough for it"));
    return std::nullopt;
  }
  const Purpose purpose = settings.confirm ? Purpose::kConfirm : Purpose::kCheck;
  std::vector<CheckPoint> points = check_points(*emulated_.spec, cases, false, purpose, settings);
  std::expected<Arm, Verdict> arm = jobs_->arm("candidate", candidate, cases, tune, stop);
  if (!arm) {  // where it is not the target's limits, an earlier gate says so itself
    const Verdict& why = arm.error();
    notes.push_back(could_not_tell(why.case_id + ": " + std::string(to_string(why.gate)) + ": " + why.message));
    return std::nullopt;
  }
  Job job = jobs_->check_job(cases, std::move(*arm), std::move(points), stop);
  job.kind = settings.confirm ? Job::Kind::kConfirm : Job::Kind::kCheck;
  job.deadline = std::min(job.deadline, settings.confirm ? kConfirmTime : kScreenTime);
  Outcome outcome = emulated_.rig->run(job, stop);
  throw_if_stopped(stop);
  if (const auto* fault = std::get_if<Fault>(&outcome)) {  // its process crashed, or took too long: ours, not proven
    notes.push_back(could_not_tell(fault->reason + ": " + fault->what));
    return std::nullopt;
  }
  const auto* report = std::get_if<CheckReport>(&outcome);
  if (report == nullptr) {
    notes.push_back(could_not_tell("its worker gave another answer than a verdict"));
    return std::nullopt;
  }
  Verdict verdict = report->verdict;
  if (!verdict.passed && refuses_nobody(verdict)) {
    notes.push_back(could_not_tell(verdict.case_id + ": " + verdict.message));
    return std::nullopt;
  }
  if (!verdict.passed) {
    verdict.message = "on the emulator, which goes first: " + verdict.message;
    return verdict;
  }
  if (settings.confirm) {
    notes.push_back("the emulator found nothing in " + std::to_string(verdict.checks) + " launches of " +
                    std::to_string(cases.size()) + " small cases");
  }
  return std::nullopt;
}

}  // namespace kf
