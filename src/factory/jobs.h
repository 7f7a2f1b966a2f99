// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <expected>
#include <map>
#include <memory>
#include <mutex>
#include <semaphore>
#include <span>
#include <stop_token>
#include <string>
#include <vector>

#include <kfactory/factory.h>
#include <kfactory/job.h>

#include "baseline_check.h"
#include "baseline_tuning.h"
#include "copy_ways.h"
#include "costs.h"
#include "emulator_first.h"

namespace kf {

// Turns candidates and cases into jobs: compiles, audits, resolves, and puts the float64 reference, the baselines and
// the copy rows beside them. What does not depend on the candidate is built once. Thread-safe; one a run.
// A refused candidate is a Verdict; a reference, baseline or harness that does not build throws Fatal (the spec or
// this program is wrong, not the candidate); a stop throws Interrupted.
class JobBuilder {
 public:
  // compile_jobs < 1: as many as this machine has processors. `shared_slots`: compilations at once are bounded over
  // several builders; it outlives this.
  JobBuilder(const Factory& factory, std::int32_t compile_jobs, std::counting_semaphore<>* shared_slots = nullptr);

  // Distinct builds are compiled in parallel, bounded over all callers by `compile_jobs`.
  // `costs` is told of "compile", "binary audit" and "plan". With `audited` what the binary audit refuses is used all
  // the same, and the refusals go there: for those who want to hear the other gates too.
  std::expected<Arm, Verdict> arm(std::string name, const Candidate& candidate, std::span<const Case> cases,
                                  const Assignment& chosen, std::stop_token stop, CostLog* costs = nullptr,
                                  std::vector<Verdict>* audited = nullptr);

  Job check_job(const std::vector<Case>& cases, Arm candidate, std::vector<CheckPoint> checks, std::stop_token stop);
  // A check job of the naive baseline and more: the reference's float32 orders for the first `probed` cases, and the
  // cases behind those of `checks`, which are of `influence`.
  Job admission_job(const std::vector<Case>& cases, std::size_t probed, Arm naive, std::vector<CheckPoint> checks,
                    std::vector<CheckPoint> influence, std::stop_token stop);
  // Throws Fatal where it cannot be built.
  void build_reference(const Case& of, std::stop_token stop);
  // Arms in the order given, then the spec's CUDA baselines and the copy row when `with_baselines`.
  Job time_job(const std::vector<Case>& cases, std::vector<Arm> arms, bool with_baselines,
               const EvaluationSettings& settings, std::stop_token stop);

  // The spec's CUDA baselines, settled, as arms "baseline:NAME". Throws Fatal where one is refused.
  std::vector<Arm> baseline_arms(const std::vector<Case>& cases, const EvaluationSettings& settings,
                                 std::stop_token stop);

  // The spec's CUDA baselines as candidates, in the spec's order.
  struct Baseline {
    std::string name;
    Candidate candidate;
  };
  const std::vector<Baseline>& baselines() const { return baselines_; }
  const Build& harness(std::stop_token stop);
  // What does not depend on a candidate is found out once a run, when it is first needed.
  BaselineCheck& baseline_check() { return baseline_check_; }
  BaselineTuning& baseline_tuning() { return baseline_tuning_; }
  CopyWays& copy_ways() { return copy_ways_; }
  EmulatorFirst* emulator_first() { return emulator_first_.get(); }  // null: there is none

 private:
  Job common(Job::Kind kind, const std::vector<Case>& cases, std::stop_token stop);
  struct Reference {
    std::vector<Build> builds;
    ReferencePlan plan;
  };
  void add_copy_arm(Job& job, const EvaluationSettings& settings, const std::stop_token& stop);
  Reference reference_for(const Case& of, const std::stop_token& stop);
  std::expected<Build, BuildFailure> compile(const BuildRequest& request, const std::stop_token& stop);
  // `more_prelude` follows the usual one. The error says why the spec's reference cannot be used like that.
  std::expected<Reference, std::string> make_reference(const Case& of, std::string_view more_prelude,
                                                       const std::stop_token& stop);
  std::expected<std::pair<ResolvedPlan, Build>, std::string> resolve_reference(const Case& slice,
                                                                               std::string_view more_prelude,
                                                                               const std::stop_token& stop);
  // For the first `count` cases.
  ReferenceVariant variant(ReferenceVariant::Kind kind, const std::vector<Case>& cases, std::size_t count,
                           const std::stop_token& stop);

  const Factory& factory_;
  std::size_t compile_jobs_;
  std::counting_semaphore<> own_slots_;
  std::counting_semaphore<>& compile_slots_;
  Candidate reference_;
  std::vector<Baseline> baselines_;
  BaselineCheck baseline_check_;
  BaselineTuning baseline_tuning_;
  CopyWays copy_ways_;
  std::unique_ptr<EmulatorFirst> emulator_first_;
  std::mutex mutex_;                                                    // guards what follows
  std::map<std::string, std::shared_ptr<const Reference>> references_;  // by case id
  std::shared_ptr<const Build> harness_;
};

// The same job on some of its cases, given by their index.
Job job_of_cases(const Job& whole, const std::vector<std::size_t>& at);

// Bytes that the float64 outputs of one slice of a reference may have.
inline constexpr std::int64_t kReferenceSliceBytes = 512LL << 20;
// The largest extent whose outputs stay below that; at least 1, at most `whole`. `one`: the slice of extent 1.
std::int64_t slice_extent(const Case& one, std::int64_t whole);

}  // namespace kf
