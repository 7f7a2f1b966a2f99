// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <exception>

#include "gates/gates.h"
#include "measure/profile.h"
#include "measure/session.h"
#include "os/steady_clock.h"
#include "rig/job_child.h"
#include "rig/metered_device.h"

namespace kf {
namespace {

// Wall time between one gate's beginning and the next one's.
class GateCosts {
 public:
  void begin(Gate gate) {
    const auto now = SteadyClock().now();
    if (!costs_.empty()) {
      costs_.back().milliseconds += std::chrono::duration<double, std::milli>(now - since_).count();
    }
    since_ = now;
    const std::string step = "gate " + std::string(to_string(gate));
    const auto known = std::ranges::find(costs_, step, &Cost::step);
    if (known == costs_.end()) {
      costs_.push_back({step, 0, 1});
    } else {  // the last one is the one under way
      ++known->count;
      std::rotate(known, known + 1, costs_.end());
    }
  }
  std::vector<Cost> end() {
    if (!costs_.empty()) {
      costs_.back().milliseconds += std::chrono::duration<double, std::milli>(SteadyClock().now() - since_).count();
    }
    return std::move(costs_);
  }

 private:
  std::vector<Cost> costs_;
  std::chrono::steady_clock::time_point since_;
};

template <class Report>
Outcome outcome_of(std::expected<Report, Fault> report) {
  if (!report) {
    return std::move(report.error());
  }
  return *std::move(report);
}

Outcome perform(const Job& job, MeteredDevice& device, const std::function<void(bool candidate)>& candidate) {
  if (job.kind == Job::Kind::kDescribe) {
    return device.calibrate();
  }
  if (auto ready = device.use_harness(job.harness); !ready) {
    return Fault{Fault::Kind::kRig, std::string(to_string(ready.error().kind)),
                 "the harness kernels could not be loaded: " + ready.error().detail};
  }
  device.set_launch_deadline(job.launch_deadline);
  const std::function<void(bool)> candidate_of = [&](bool is_candidate) {
    device.candidate_launches(is_candidate);
    candidate(is_candidate);
  };
  const PhaseObserver phase = [&](Phase now) { candidate_of(now == Phase::kCandidate); };
  switch (job.kind) {
    case Job::Kind::kAdmit:
      return outcome_of(run_admission(device, job, phase));
    case Job::Kind::kCheck:
    case Job::Kind::kConfirm:
    case Job::Kind::kSanitize: {
      GateCosts costs;
      Outcome outcome = outcome_of(run_check(device, job, phase, [&](Gate gate) { costs.begin(gate); }));
      add_costs(outcome, costs.end());
      return outcome;
    }
    case Job::Kind::kTime:
      return outcome_of(run_time(device, job, SteadyClock(), candidate_of));
    case Job::Kind::kProfile:
      return outcome_of(run_profile(device, job, candidate_of));
    default:
      return Fault{Fault::Kind::kRig, "unsupported", "a device cannot perform a job of this kind"};
  }
}

}  // namespace

void add_costs(Outcome& outcome, const std::vector<Cost>& costs) {
  if (auto* check = std::get_if<CheckReport>(&outcome)) {
    check->costs.insert(check->costs.end(), costs.begin(), costs.end());
  }
  if (auto* profile = std::get_if<Profile>(&outcome)) {
    profile->costs.insert(profile->costs.end(), costs.begin(), costs.end());
  }
  if (auto* time = std::get_if<TimeReport>(&outcome)) {
    time->costs.insert(time->costs.end(), costs.begin(), costs.end());
  }
}

Outcome perform_job(const Job& job, Device& device, const std::function<void(bool candidate)>& candidate) {
  const SteadyClock clock;
  MeteredDevice metered(device, clock);
  try {
    Outcome outcome = perform(job, metered, candidate);
    add_costs(outcome, metered.costs());
    return outcome;
  } catch (const std::exception& error) {
    return Fault{Fault::Kind::kRig, "internal", std::string("the worker failed: ") + error.what()};
  }
}

}  // namespace kf
