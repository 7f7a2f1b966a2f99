// SPDX-License-Identifier: Apache-2.0
#include "kernel_records.h"

#include <kfactory/device.h>

#include "stop.h"

namespace kf {
namespace {

constexpr std::int32_t kQuads = 3;  // device times vary by less than event times

bool is_launch_truth(const Outcome& outcome) {
  const auto* report = std::get_if<TimeReport>(&outcome);
  return report != nullptr && !report->verdict.passed &&
         report->verdict.reason == to_string(DeviceFault::Kind::kLaunchTruth);
}

}  // namespace

KernelRecords take_kernel_records(const Factory& factory, Job timed, CostLog& costs, std::stop_token stop) {
  KernelRecords records;
  timed.method = ClockMethod::kCupti;
  timed.min_quads = timed.max_quads = kQuads;
  const auto take = [&] {
    Outcome taken = costs.during("kernel records", [&] { return factory.rig->run(timed, stop); });
    throw_if_stopped(stop);
    return taken;
  };
  Outcome outcome = take();
  // Records come from a tracing library, not from our own eyes: they refuse a kernel only when they say so twice, in
  // two processes.
  if (is_launch_truth(outcome)) {
    outcome = take();
  }
  if (auto* report = std::get_if<TimeReport>(&outcome)) {
    costs.add_inside("kernel records", report->costs);
    if (report->verdict.passed) {
      records.timings = std::move(report->measurement.cases);
    } else if (report->arm == 0) {
      records.refusal = std::move(report->verdict);
    } else {  // a rival's fault is no verdict on the candidate
      records.not_taken = report->verdict.reason + ": " + report->verdict.message;
    }
  } else if (const auto* fault = std::get_if<Fault>(&outcome); fault != nullptr && fault->kind == Fault::Kind::kRig) {
    records.not_taken = fault->reason + ": " + fault->what;
  } else if (fault != nullptr) {
    Verdict refusal;
    refusal.passed = false;
    refusal.gate = Gate::kTimedRun;
    refusal.reason = fault->reason;
    refusal.message = fault->what;
    records.refusal = std::move(refusal);
  } else {
    records.not_taken = "the worker answered with another kind of outcome than the job's";
  }
  return records;
}

}  // namespace kf
