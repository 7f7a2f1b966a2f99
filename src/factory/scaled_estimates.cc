// SPDX-License-Identifier: Apache-2.0
#include "scaled_estimates.h"

#include <algorithm>
#include <optional>

#include <kfactory/estimate.h>

#include "cases.h"
#include "score.h"

namespace kf {
namespace {

constexpr std::string_view kMemset = "memset";

std::int64_t bytes_of(const Work& work) {
  return work.read_bytes + work.write_bytes;
}

struct Source {
  const CaseTiming* timing = nullptr;
  Work work;
};

// Where the counts for `timed` come from: the largest case of its types and optional tensors that ran and has work to
// scale by. Another kind says nothing: a kernel may treat it otherwise, or not at all.
std::optional<Source> source_for(const Spec& spec, const Measurement& measurement, const Case& timed) {
  std::optional<Source> best;
  for (const CaseTiming& timing : measurement.cases) {
    const Case* of = case_called(spec, timing.case_id);
    if (of == nullptr || timing.counts.empty() || !timing.scaled_from.empty() || of->types != timed.types ||
        of->absent != timed.absent) {
      continue;
    }
    const OrError<Work> work = work_of(spec, *of);
    if (!work || bytes_of(*work) <= 0) {
      continue;
    }
    if (!best || bytes_of(*work) > bytes_of(best->work)) {
      best = Source{&timing, *work};
    }
  }
  return best;
}

double ratio(std::int64_t to, std::int64_t from, double otherwise) {
  return to > 0 && from > 0 ? static_cast<double>(to) / static_cast<double>(from) : otherwise;
}

// The launches of `plan`, with the counts of the plan that ran; nullopt: they are other launches.
std::optional<std::vector<LaunchCounts>> scaled_launches(const std::vector<LaunchCounts>& ran, const ResolvedPlan& plan,
                                                         double bytes_ratio, double flops_ratio,
                                                         const DeviceFacts& facts) {
  std::vector<LaunchCounts> made;
  for (const Workspace& workspace : plan.workspaces) {
    if (workspace.init == WorkspaceInit::kZero) {
      LaunchCounts memset;
      memset.id = kMemset;
      memset.blocks = facts.sm_count;
      memset.dram_bytes = workspace.bytes;
      made.push_back(std::move(memset));
    }
  }
  auto next = ran.begin();
  const auto skip_memsets = [&] {
    next = std::find_if(next, ran.end(), [](const auto& c) { return c.id != kMemset; });
  };
  for (const Launch& launch : plan.launches) {
    skip_memsets();
    if (next == ran.end() || next->id != launch.id) {
      return std::nullopt;
    }
    const std::int64_t blocks = std::int64_t{launch.grid[0]} * launch.grid[1] * launch.grid[2];
    made.push_back(scaled(*next++, bytes_ratio, flops_ratio, blocks));
  }
  skip_memsets();
  return next == ran.end() ? std::optional(std::move(made)) : std::nullopt;
}

}  // namespace

std::vector<Case> cases_to_scale_to(const Spec& spec, const EvaluationSettings& settings) {
  const auto timed = spec.cases.find("time");
  if (timed == spec.cases.end() || settings.scaled_cases <= 0) {
    return timed == spec.cases.end() ? std::vector<Case>() : timed->second;
  }
  std::vector<Case> chosen;
  for (const std::string& id : screening_cases(spec, DeviceFacts{}, settings.scaled_cases)) {
    chosen.push_back(*case_called(spec, id));
  }
  return chosen;
}

std::vector<CaseTiming> scaled_estimates(const Spec& spec, const DeviceFacts& facts, const Measurement& measurement,
                                         const std::vector<Case>& timed, std::span<const Arm> arms,
                                         std::vector<std::string>& notes) {
  std::vector<CaseTiming> all;
  Map<std::vector<std::string>> other_kernels;  // by arm: the cases in which its plan launches what nothing ran
  for (std::size_t at = 0; at < timed.size(); ++at) {
    const Case& of = timed[at];
    const std::optional<Source> source = source_for(spec, measurement, of);
    const OrError<Work> work = work_of(spec, of);
    if (!source || !work || bytes_of(*work) <= 0) {
      notes.push_back("no estimate for " + of.id.value +
                      ": no case of its types and optional tensors ran, or the spec's work is unknown");
      continue;
    }
    const double bytes_ratio = ratio(bytes_of(*work), bytes_of(source->work), 1);
    const double flops_ratio = ratio(work->flops, source->work.flops, bytes_ratio);
    CaseTiming made;
    made.case_id = of.id.value;
    made.method = ClockMethod::kEstimate;
    made.state = source->timing->state;
    made.scaled_from = source->timing->case_id;
    made.notes.push_back("estimate, scaled from " + made.scaled_from + "; nothing of this size was executed");
    for (std::size_t n = 0; n < source->timing->arms.size() && n < source->timing->counts.size(); ++n) {
      const std::string& name = source->timing->arms[n];
      const auto arm = std::ranges::find(arms, name, &Arm::name);
      if (arm == arms.end() || source->timing->counts[n].empty()) {
        continue;
      }
      auto launches = scaled_launches(source->timing->counts[n], arm->plans.at(at), bytes_ratio, flops_ratio, facts);
      if (!launches) {
        other_kernels[name].push_back(of.id.value);
        continue;
      }
      const auto index = static_cast<std::int32_t>(made.arms.size());
      made.arms.push_back(name);
      made.samples.push_back({index, 0, index, estimate(*launches, facts).total, 0});
      made.counts.push_back(*std::move(launches));
    }
    if (!made.arms.empty() && made.arms.front() == "candidate") {
      all.push_back(std::move(made));
    }
  }
  for (const auto& [arm, cases] : other_kernels) {
    std::string note = "no estimate of " + arm + " for " + std::to_string(cases.size()) + " of " +
                       std::to_string(timed.size()) +
                       " timed cases: there its plan launches other kernels than in the cases that were executed:";
    for (const std::string& id : cases) {
      note += (&id == &cases.front() ? " " : ", ") + id;
    }
    notes.push_back(std::move(note));
  }
  return all;
}

}  // namespace kf
