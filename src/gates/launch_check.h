// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <functional>
#include <optional>

#include "gates/gates.h"
#include "gates/reference.h"

namespace kf {

// One launch of the judged arm, from fresh contents to a verdict and back to buffers that hold nothing of it.
struct LaunchCheck {
  Gate gate = Gate::kCheck;
  std::int32_t case_index = 0;
  Contents contents;
  std::uint64_t poison_seed = 0;
  std::int64_t misalign = 0;
  std::optional<Disturbance> disturbance;  // the launch is run_disturbed()
  // The relations gate: other inputs than `contents` for the launch, made before it; then, with the inputs back as they
  // were, its outputs turned into what they say about `contents`.
  std::function<void(CaseBuffers&)> before_launch, before_comparison;
  bool want_outputs = false;  // digest of the outputs' elements, read back while they are there
};
struct LaunchResult {
  std::optional<Verdict> refusal;
  std::vector<Digest> outputs;
};

// What a launch did beside its work: overwritten red zones and padding of its tensors and workspaces, or a
// "zero_restored" workspace that is not zero. nullopt: nothing. Reads `buffers` as the launch left them; `workspaces`
// are theirs.
std::optional<Verdict> strayed(Bench& bench, Gate gate, const CaseBuffers& buffers,
                               const std::vector<Workspace>& workspaces);

class LaunchChecker {
 public:
  LaunchChecker(Bench& bench, const Job& job, const Arm& arm, const PhaseObserver& phase)
      : bench_(bench), job_(job), arm_(arm), phase_(phase), modules_(bench, arm.builds), reference_(bench, job) {}

  // The order is the point: no launch uses contents for which another launch's output or reference is in memory.
  // Allocate and poison, contents, digests of the inputs, launch, what it may not have touched, reference and
  // comparison, scrub.
  LaunchResult check(const LaunchCheck& launch);
  // The next launch loads its module anew: what module memory kept is gone.
  void reload() { modules_.unload(); }
  std::int64_t launches() const { return launches_; }
  Reference& reference() { return reference_; }

 private:
  std::optional<Verdict> run(const LaunchCheck& launch, const CaseBuffers& buffers);
  std::optional<Verdict> untouched(const LaunchCheck& launch, const CaseBuffers& buffers,
                                   const std::vector<ContentDigest>& inputs);
  std::vector<ContentDigest> input_digests(const CaseBuffers& buffers);
  Digest elements_digest(const CaseBuffers& buffers, std::size_t index);

  Bench& bench_;
  const Job& job_;
  const Arm& arm_;
  const PhaseObserver& phase_;
  Modules modules_;
  Reference reference_;
  std::int64_t launches_ = 0;
};

}  // namespace kf
