// SPDX-License-Identifier: Apache-2.0
// What a batch of timed launches left behind, and whose fault it is.
#include <algorithm>

#include "gates/launch_check.h"
#include "gates/verdicts.h"
#include "measure/case_session.h"

namespace kf {
std::int32_t CaseSession::original_of(std::int32_t arm) const {
  if (arm < static_cast<std::int32_t>(parts_.job.arms.size())) {
    return arm;
  }
  const std::string& name = runners_[static_cast<std::size_t>(arm)].name;
  const auto original = std::ranges::find(timing_.arms, name.substr(0, name.size() - kAgainSuffix.size()));
  return static_cast<std::int32_t>(original - timing_.arms.begin());
}

bool CaseSession::untrusted_in(const std::vector<Planned>& planned) const {
  return std::ranges::any_of(
      planned, [&](const Planned& launch) { return !runners_[static_cast<std::size_t>(launch.arm)].trusted; });
}

// Of a batch with an untrusted launch: every arm ran alone before, but not behind a gate with others, so the fault is
// of an untrusted one. With several of them nobody can tell; -1.
std::int32_t CaseSession::suspect_of(const std::vector<Planned>& planned) const {
  std::int32_t suspect = -1;
  for (const Planned& launch : planned) {
    if (runners_[static_cast<std::size_t>(launch.arm)].trusted) {
      continue;
    }
    const std::int32_t arm = original_of(launch.arm);
    if (suspect >= 0 && suspect != arm) {
      return -1;
    }
    suspect = arm;
  }
  return suspect;
}

// A batch without an untrusted launch failed: no candidate has to answer for that. Where one arm made up the batch and
// the device lives, that arm leaves; of several nobody can tell which, and the case would be measured against the wrong
// ones.
void CaseSession::trusted_failed(const std::vector<Planned>& planned, const std::string& reason,
                                 const std::string& why) {
  const std::int32_t arm = original_of(planned.front().arm);
  const bool one = std::ranges::all_of(planned, [&](const Planned& launch) { return original_of(launch.arm) == arm; });
  if (!one || !bench_.alive()) {
    throw RigFailure{{Fault::Kind::kRig, reason,
                      "a batch without the candidate, with " + runners_[static_cast<std::size_t>(arm)].name +
                          (one ? "" : " and others") + ", failed: " + why}};
  }
  for (std::int32_t runner = 0; runner < static_cast<std::int32_t>(runners_.size()); ++runner) {
    if (original_of(runner) == arm) {  // the arm and its second loading
      drop(runner, reason + ": " + why);
    }
  }
}

std::optional<Verdict> CaseSession::fault_of(const std::vector<Planned>& planned, const DeviceFault& fault) {
  const bool records = parts_.job.method == ClockMethod::kCupti;
  if (records && fault.kind == DeviceFault::Kind::kUnsupported) {
    throw RigFailure{{Fault::Kind::kRig, "unsupported", fault.detail}};  // no CUPTI here: nobody's fault
  }
  if (!untrusted_in(planned)) {
    trusted_failed(planned, std::string(to_string(fault.kind)), fault.detail);
    return std::nullopt;
  }
  const bool slot_known = fault.slot >= 0 && static_cast<std::size_t>(fault.slot) < planned.size();
  refused_arm_ = slot_known ? original_of(planned[static_cast<std::size_t>(fault.slot)].arm) : suspect_of(planned);
  Verdict verdict = verdict_of(Gate::kTimedRun, fault);
  if (refused_arm_ > 0) {
    verdict.message = timing_.arms[static_cast<std::size_t>(refused_arm_)] + ": " + verdict.message;
  }
  return refused(std::move(verdict));
}

// Of the candidate: why its launch is refused; nullopt: it is right. What another arm did wrong goes to `wrong_rivals`.
std::optional<Verdict> CaseSession::verify(const Planned& launch, std::vector<WrongRival>& wrong_rivals) {
  if (runners_[static_cast<std::size_t>(launch.arm)].dropped) {
    return std::nullopt;
  }
  std::optional<Verdict> wrong = parts_.busy.during([&] { return wrong_in(launch); });
  if (!wrong) {
    ++timing_.verified;
    return std::nullopt;
  }
  if (launch.arm == 0) {
    wrong->message =
        (wrong->mismatch ? "the outputs of a timed launch are wrong. " : "in a timed launch, ") + wrong->message;
    return refused(*std::move(wrong));
  }
  wrong_rivals.push_back({launch.arm, wrong->message});
  return std::nullopt;
}

// Outputs of the batch and what became of the inputs, while they are there; then rivals that were wrong.
std::optional<Verdict> CaseSession::verify_all(const std::vector<Planned>& planned) {
  std::vector<WrongRival> wrong_rivals;
  for (const Planned& launch : planned) {
    if (launch.verify) {
      if (auto refusal = verify(launch, wrong_rivals)) {
        return refusal;
      }
    }
  }
  const bool beside_others = untrusted_in(planned);
  for (const WrongRival& rival : wrong_rivals) {
    // An arm that we trust, wrong beside others and right alone, twice: one of the others reached its outputs.
    const bool trusted = runners_[static_cast<std::size_t>(rival.arm)].trusted;
    if (trusted && beside_others && right_alone(rival.arm) && right_alone(rival.arm)) {
      refused_arm_ = suspect_of(planned);
      return refused(refuse(Gate::kTimedRun, "sabotage",
                            "a launch of " + timing_.arms[static_cast<std::size_t>(rival.arm)] +
                                " was wrong in a batch beside the candidate and is right alone: a launch may write to "
                                "its own outputs and workspaces only. " +
                                rival.why));
    }
    drop(rival.arm, std::string(kWrongOutputs) + rival.why);
  }
  return std::nullopt;
}

// The arm's work once more, with nothing else in the batch.
bool CaseSession::right_alone(std::int32_t arm) {
  Planned launch;
  launch.arm = arm;
  prepare(launch);
  bench_.must(parts_.busy.during([&] { return device_.settle(); }), "preparing a batch");
  Runner& runner = runners_[static_cast<std::size_t>(arm)];
  TimedBatch alone;
  alone.state = parts_.job.state;
  alone.method = parts_.job.method;
  alone.slots.push_back({arm, bench_.must(module_of(runner), "loading " + runner.name), runner.plan,
                         launch.set->tensors(), runner.workspaces[0].workspaces()});
  const auto samples = bench_.tried(parts_.busy.during([&] { return device_.time(alone); }));
  return samples && !parts_.busy.during([&] { return wrong_in(launch); });
}

// What a timed launch left behind, as a check has it: beside its outputs, then in them.
std::optional<Verdict> CaseSession::wrong_in(const Planned& launch) {
  const Runner& runner = runners_[static_cast<std::size_t>(launch.arm)];
  const CaseBuffers& workspaces = runner.workspaces[static_cast<std::size_t>(launch.occurrence) % 2];
  std::optional<Verdict> stray = strayed(bench_, Gate::kTimedRun, *launch.set, no_workspaces_);
  stray = stray ? stray : strayed(bench_, Gate::kTimedRun, workspaces, runner.plan->workspaces);
  if (stray) {
    return stray;
  }
  if (!runner.own_case) {
    return verdict_of(Gate::kTimedRun,
                      parts_.reference.compare(index_, *launch.set, launch.contents, derive_seed(seed_, 7)));
  }
  // A copy row: tensor 1 must hold what tensor 0 holds.
  const std::vector<Tensor>& tensors = runner.of->tensors;
  if (tensors.size() != 2 || tensors[0].extent != tensors[1].extent || tensors[0].dtype != tensors[1].dtype) {
    return refuse(Gate::kTimedRun, "mismatch", "an arm with tensors of its own that is no copy cannot be verified");
  }
  const auto [from, to] = std::pair(launch.set->tensors()[0], launch.set->tensors()[1]);
  const std::int64_t differing = bench_.must(device_.differing_elements(from, to, tensors[1]), "comparing a copy");
  return differing == 0 ? std::nullopt
                        : std::optional(refuse(Gate::kTimedRun, "mismatch",
                                               std::to_string(differing) + " elements were not copied"));
}

std::vector<ContentDigest> CaseSession::input_digests(const CaseBuffers& set) {
  std::vector<ContentDigest> digests;
  for (std::size_t i = 0; i < set.of().tensors.size(); ++i) {
    if (set.of().tensors[i].role == TensorRole::kInput) {
      digests.push_back(bench_.must(device_.digest(set.tensors()[i]), "digesting inputs"));
    }
  }
  return digests;
}

}  // namespace kf
