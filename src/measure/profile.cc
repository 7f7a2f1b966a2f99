// SPDX-License-Identifier: Apache-2.0
#include "measure/profile.h"

#include "gates/bench.h"
#include "gates/verdicts.h"

namespace kf {
namespace {

// False: no further case can be counted.
bool count_case(Bench& bench, const Job& job, std::size_t index, Modules& modules,
                const std::function<void(bool)>& candidate, Profile& profile) {
  const Case& of = job.cases[index];
  const ResolvedPlan& plan = job.arms[0].plans[index];
  CaseCounters& found = profile.cases.emplace_back();
  found.case_id = of.id.value;
  if (plan.launches.empty()) {
    found.notes.emplace_back("nothing is launched");
    return true;
  }
  // Counting replays launches, slows and serialises them: a fault under it is no evidence against the candidate.
  const auto not_counted = [&](const DeviceFault& fault) {
    profile.cases.pop_back();
    profile.refused =
        fault.kind == DeviceFault::Kind::kUnsupported
            ? fault.detail
            : "while the counters of " + of.id.value + " were read: " + verdict_of(Gate::kPhysics, fault).message;
    return false;
  };
  CaseBuffers buffers(bench, of, plan.workspaces, 0);
  const std::uint64_t seed = index < job.time_seeds.size() ? job.time_seeds[index] : derive_seed(0, index);
  std::uint64_t pass = 0;
  CountRequest request;
  request.state = job.state;
  request.metrics = job.counters;
  request.before_pass = [&]() -> OrFault<void> {  // work of ours, whose faults are the rig's
    const std::uint64_t use = derive_seed(seed, 3'000'000 + pass++);
    buffers.renew({of.family, use, &job.families}, derive_seed(use, 1));
    bench.must(bench.device().scrub_shared(derive_seed(use, 2)), "scrubbing shared memory");
    bench.must(bench.device().settle(), "preparing a launch whose counters are read");
    return {};
  };
  candidate(true);
  const OrFault<ModuleHandle> module = modules.of(plan);
  OrFault<Map<double>> values = Map<double>{};
  if (module) {
    request.slot = {0, *module, &plan, buffers.tensors(), buffers.workspaces()};
    values = bench.device().count(request);
  }
  candidate(false);
  if (!module) {
    return not_counted(module.error());
  }
  values = bench.tried(std::move(values));
  if (!values) {
    return not_counted(values.error());
  }
  found.values = *std::move(values);
  buffers.scrub_outputs(derive_seed(seed, 4'000'000));
  return true;
}

}  // namespace

std::expected<Profile, Fault> run_profile(Device& device, const Job& job,
                                          const std::function<void(bool candidate)>& candidate) {
  if (job.arms.empty() || job.arms[0].plans.size() != job.cases.size()) {
    return std::unexpected(Fault{Fault::Kind::kRig, "garbage", "a profile job needs an arm with one plan a case"});
  }
  Bench bench(device);
  Profile profile;
  try {
    Modules modules(bench, job.arms[0].builds);
    for (std::size_t index = 0; index < job.cases.size(); ++index) {
      if (!count_case(bench, job, index, modules, candidate, profile)) {
        break;
      }
    }
  } catch (const RigFailure& failure) {
    return std::unexpected(failure.fault);
  }
  return profile;
}

}  // namespace kf
