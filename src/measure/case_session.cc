// SPDX-License-Identifier: Apache-2.0
#include "measure/case_session.h"

#include <algorithm>

#include "gates/damage.h"
#include "gates/verdicts.h"

namespace kf {
namespace {

constexpr std::size_t kMostBehindOneGate = 16;
constexpr std::string_view kAgain = "_again";

bool alike(const Case& a, const Case& b) {
  return std::ranges::equal(a.tensors, b.tensors, [](const Tensor& x, const Tensor& y) {
    return x.role == y.role && x.dtype == y.dtype && x.extent == y.extent && x.stride == y.stride && x.name == y.name;
  });
}

}  // namespace

CaseSession::CaseSession(SessionParts& parts, std::int32_t index)
    : parts_(parts),
      bench_(parts.bench),
      device_(parts.bench.device()),
      index_(index),
      case_(parts.job.cases[static_cast<std::size_t>(index)]),
      seed_(static_cast<std::size_t>(index) < parts.job.time_seeds.size()
                ? parts.job.time_seeds[static_cast<std::size_t>(index)]
                : derive_seed(0, static_cast<std::uint64_t>(index))) {
  timing_.case_id = case_.id.value;
  timing_.method = parts.job.method;
  timing_.state = parts.job.state;
  no_tensors_.id = case_.id;
}

void CaseSession::add_runners() {
  const std::vector<Arm>& arms = parts_.job.arms;
  const auto add = [&](const Arm& arm, std::string name) {
    const auto at = static_cast<std::size_t>(index_);
    Runner runner;
    runner.name = std::move(name);
    runner.plan = &arm.plans.at(at);
    runner.own_case = !arm.own_cases.empty();
    runner.trusted = arm.name.starts_with("baseline") || arm.name.starts_with("copy");
    runner.of = runner.own_case ? &arm.own_cases.at(at) : &case_;
    runner.modules = std::make_unique<Modules>(bench_, arm.builds);
    const auto group = std::ranges::find_if(groups_, [&](const Group& g) { return alike(*g.of, *runner.of); });
    runner.group = static_cast<std::size_t>(group - groups_.begin());
    if (group == groups_.end()) {
      groups_.push_back({runner.of, {}, 0});
    }
    runners_.push_back(std::move(runner));
  };
  for (const Arm& arm : arms) {
    add(arm, arm.name);
  }
  // The A/A control: the same cubin loaded a second time. Of the champion; without one, of the first baseline, else of
  // the candidate.
  const auto named = [&](std::string_view prefix) {
    return std::ranges::find_if(arms, [&](const Arm& arm) { return arm.name.starts_with(prefix); });
  };
  auto original = named("champion");
  original = original == arms.end() ? named("baseline") : original;
  original = original == arms.end() ? arms.begin() : original;
  if (parts_.job.method != ClockMethod::kEstimate) {
    add(*original, original->name + std::string(kAgain));
  }
  for (Runner& runner : runners_) {
    timing_.arms.push_back(runner.name);
    if (runner.name == "copy" && !runner.plan->launches.empty()) {
      note("the copy row is " + runner.plan->launches.front().id);
    }
    for (int i = 0; i < 2; ++i) {
      runner.workspaces.emplace_back(bench_, no_tensors_, runner.plan->workspaces, 0);
    }
  }
}

void CaseSession::allocate_sets() {
  std::int64_t set_bytes = 0;
  for (const Group& group : groups_) {
    set_bytes += bytes_of(*group.of);
  }
  // The rest is for the reference's slices and for the driver.
  const std::int64_t budget = device_.free_bytes() / 2;
  const Rotation rotation = rotation_for(set_bytes, device_.facts().l2_bytes, budget,
                                         2 * static_cast<std::int64_t>(runners_.size()), parts_.job.state);
  for (Group& group : groups_) {
    for (std::int64_t i = 0; i < rotation.sets; ++i) {
      group.sets.emplace_back(bench_, *group.of, no_workspaces_, 0);
    }
  }
  if (rotation.limited_by_memory) {
    note("rotation over " + std::to_string(rotation.sets) + " sets, limited by memory");
  }
  if (rotation.sets == 1) {
    note("one set of buffers, its contents made anew before each launch");
  }
}

// Every pair that will be compared; the stopping rule looks at the width of each.
std::vector<std::pair<int, int>> CaseSession::decided_pairs() const {
  std::vector<std::pair<int, int>> pairs;
  for (int arm = 0; arm < static_cast<int>(runners_.size()); ++arm) {
    const Runner& runner = runners_[static_cast<std::size_t>(arm)];
    if (runner.dropped || runner.own_case) {
      continue;
    }
    if (runner.name.ends_with(kAgain)) {
      const auto original = std::ranges::find(timing_.arms, runner.name.substr(0, runner.name.size() - kAgain.size()));
      pairs.emplace_back(arm, static_cast<int>(original - timing_.arms.begin()));
    } else if (arm != 0) {
      pairs.emplace_back(0, arm);
    }
  }
  return pairs;
}

CaseResult CaseSession::run() {
  add_runners();
  allocate_sets();
  const bool estimate = parts_.job.method == ClockMethod::kEstimate;
  const std::int32_t min_quads = estimate ? 1 : std::max(1, parts_.job.min_quads);
  const std::int32_t max_quads = estimate ? 1 : std::max(min_quads, parts_.job.max_quads);
  verification_.emplace(static_cast<std::int32_t>(runners_.size()), min_quads, derive_seed(seed_, 3));

  CaseResult result;
  result.refusal = first_launches();
  if (!result.refusal && !estimate) {
    result.refusal = quad(-1, false);  // clocks and caches settle; not recorded
  }
  for (std::int32_t number = 0; number < max_quads && !result.refusal; ++number) {
    if (number >= min_quads && narrow_enough(timing_, decided_pairs(), parts_.job.target_half_width)) {
      break;
    }
    if (number > 0 && parts_.out_of_time(index_)) {
      note("stopped after " + std::to_string(number) + " quads: the job's time for this case was over");
      break;
    }
    // Where code and data lie has its own effect, constant for as long as they lie there. Each quad therefore loads its
    // modules anew (and rotates its buffers); docs/timing.md has the simulation that says so.
    if (number > 0) {
      for (Runner& runner : runners_) {
        runner.modules->unload();
      }
      result.refusal = first_launches();
    }
    result.refusal = result.refusal ? result.refusal : quad(number, true);
  }
  result.timing = std::move(timing_);
  result.refused_arm = refused_arm_;
  return result;
}

// Each arm alone once, untimed: a baseline that faults here is to blame itself, modules are loaded before any gate
// closes, and no timed launch is the first of its module.
std::optional<Verdict> CaseSession::first_launches() {
  for (std::size_t arm = runners_.size(); arm-- > 0;) {
    Runner& runner = runners_[arm];
    if (runner.dropped) {
      continue;
    }
    Planned launch;
    launch.arm = static_cast<std::int32_t>(arm);
    prepare(launch);
    bench_.must(parts_.busy.during([&] { return device_.settle(); }), "preparing a launch");
    parts_.candidate(!runner.trusted);
    OrFault<void> done;
    if (const OrFault<ModuleHandle> module = module_of(runner)) {
      done = bench_.tried(parts_.busy.during([&] {
        return device_.run(*module, *runner.plan, launch.set->tensors(), runner.workspaces[0].workspaces(), {});
      }));
    } else {
      done = std::unexpected(module.error());
    }
    parts_.candidate(false);
    if (done) {
      continue;
    }
    if (arm == 0 || (!bench_.alive() && !runner.trusted)) {
      refused_arm_ = original_of(launch.arm);
      Verdict verdict = verdict_of(Gate::kTimedRun, done.error());
      verdict.message = arm == 0 ? verdict.message : runner.name + ": " + verdict.message;
      return refused(std::move(verdict));
    }
    drop(launch.arm, std::string(to_string(done.error().kind)) + ": " + done.error().detail);
    if (!bench_.alive()) {
      throw RigFailure{{Fault::Kind::kRig, std::string(to_string(done.error().kind)),
                        runner.name + " ended the device: " + done.error().detail}};
    }
  }
  return std::nullopt;
}

std::optional<Verdict> CaseSession::quad(std::int32_t number, bool record) {
  std::vector<std::int32_t> arms;
  for (std::size_t arm = 0; arm < runners_.size(); ++arm) {
    if (!runners_[arm].dropped) {
      arms.push_back(static_cast<std::int32_t>(arm));
    }
  }
  std::vector<std::int32_t> order = palindrome(arms, derive_seed(seed_, 100 + static_cast<std::uint64_t>(number + 1)));
  if (parts_.job.method == ClockMethod::kEstimate) {
    order = arms;  // an estimate has no noise
  }
  std::vector<int> seen(runners_.size(), 0);
  std::vector<Planned> planned;
  for (std::size_t place = 0; place < order.size(); ++place) {
    const std::int32_t arm = order[place];
    const std::int32_t occurrence = seen[static_cast<std::size_t>(arm)]++;
    Planned launch;
    launch.arm = arm, launch.quad = number, launch.occurrence = occurrence;
    launch.place = static_cast<std::int32_t>(place);
    launch.verify =
        record && (parts_.job.method == ClockMethod::kEstimate || verification_->verifies(arm, number, occurrence));
    planned.push_back(launch);
    // A batch holds as many launches as there are sets: each has contents of its own.
    const bool full = planned.size() >= std::min(kMostBehindOneGate, groups_.front().sets.size());
    if (full || place + 1 == order.size()) {
      if (auto refusal = batch(planned, record)) {
        return refusal;
      }
      planned.clear();
    }
  }
  return std::nullopt;
}

void CaseSession::prepare(Planned& launch) {
  Runner& runner = runners_[static_cast<std::size_t>(launch.arm)];
  Group& group = groups_[runner.group];
  launch.set = &group.sets[group.next];
  group.next = (group.next + 1) % group.sets.size();
  const std::uint64_t use = ++uses_;
  launch.contents = {case_.family, derive_seed(seed_, 1'000'000 + 2 * use), &parts_.job.families};
  const std::uint64_t poison = derive_seed(seed_, 1'000'001 + 2 * use);
  parts_.busy.during([&] {
    launch.set->renew(launch.contents, poison);
    runner.workspaces[static_cast<std::size_t>(launch.occurrence)].renew({}, derive_seed(poison, 1));
  });
}

std::optional<Verdict> CaseSession::batch(std::vector<Planned>& planned, bool record) {
  TimedBatch timed;
  timed.state = parts_.job.state;
  timed.method = parts_.job.method;
  const bool verifies = std::ranges::any_of(planned, &Planned::verify);
  for (Planned& launch : planned) {
    Runner& runner = runners_[static_cast<std::size_t>(launch.arm)];
    prepare(launch);
    if (verifies) {
      launch.inputs = parts_.busy.during([&] { return input_digests(*launch.set); });
    }
    const ModuleHandle module = bench_.must(module_of(runner), "loading " + runner.name);
    timed.slots.push_back({launch.arm, module, runner.plan, launch.set->tensors(),
                           runner.workspaces[static_cast<std::size_t>(launch.occurrence)].workspaces()});
  }
  bench_.must(device_.scrub_shared(derive_seed(seed_, 5'000'000 + uses_)), "scrubbing shared memory");
  bench_.must(parts_.busy.during([&] { return device_.settle(); }), "preparing a batch");
  parts_.candidate(true);
  const auto samples = bench_.tried(parts_.busy.during([&] { return device_.time(timed); }));
  parts_.candidate(false);
  if (!samples) {
    return fault_of(planned, samples.error());
  }
  if (samples->size() != planned.size()) {
    throw RigFailure{{Fault::Kind::kRig, "garbage",
                      "the device timed " + std::to_string(samples->size()) + " of " + std::to_string(planned.size()) +
                          " launches"}};
  }
  for (std::size_t i = 0; i < planned.size() && record; ++i) {
    Sample sample = (*samples)[i];
    sample.arm = planned[i].arm, sample.quad = planned[i].quad, sample.slot = planned[i].place;
    timing_.samples.push_back(sample);
  }
  for (const Planned& launch : planned) {
    if (verifies && input_digests(*launch.set) != launch.inputs) {
      refused_arm_ = suspect_of(planned);
      return refused(refuse(Gate::kTimedRun, "input_changed",
                            "inputs of a timed launch of " + runners_[static_cast<std::size_t>(launch.arm)].name +
                                " changed during a batch of timed launches: inputs are read-only"));
    }
  }
  for (const Planned& launch : planned) {
    if (launch.verify) {
      if (auto refusal = verify(launch)) {
        return refusal;
      }
    }
  }
  return std::nullopt;
}

std::int32_t CaseSession::original_of(std::int32_t arm) const {
  if (arm < static_cast<std::int32_t>(parts_.job.arms.size())) {
    return arm;
  }
  const std::string& name = runners_[static_cast<std::size_t>(arm)].name;
  const auto original = std::ranges::find(timing_.arms, name.substr(0, name.size() - kAgain.size()));
  return static_cast<std::int32_t>(original - timing_.arms.begin());
}

// Every arm ran alone before, but not behind a gate with others: the fault is of an untrusted one. With several of them
// nobody can tell; -1.
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

Verdict CaseSession::fault_of(const std::vector<Planned>& planned, const DeviceFault& fault) {
  const bool records = parts_.job.method == ClockMethod::kCupti;
  if (records && fault.kind == DeviceFault::Kind::kUnsupported) {
    throw RigFailure{{Fault::Kind::kRig, "unsupported", fault.detail}};  // no CUPTI here: nobody's fault
  }
  const bool slot_known = fault.slot >= 0 && static_cast<std::size_t>(fault.slot) < planned.size();
  refused_arm_ = slot_known ? original_of(planned[static_cast<std::size_t>(fault.slot)].arm) : suspect_of(planned);
  Verdict verdict = verdict_of(Gate::kTimedRun, fault);
  if (refused_arm_ > 0) {
    verdict.message = timing_.arms[static_cast<std::size_t>(refused_arm_)] + ": " + verdict.message;
  }
  return refused(std::move(verdict));
}

std::optional<Verdict> CaseSession::verify(const Planned& launch) {
  if (runners_[static_cast<std::size_t>(launch.arm)].dropped) {
    return std::nullopt;
  }
  std::optional<Mismatch> mismatch;
  const std::optional<std::string> wrong = parts_.busy.during([&] { return wrong_outputs(launch, mismatch); });
  if (!wrong) {
    ++timing_.verified;
    return std::nullopt;
  }
  if (launch.arm == 0) {
    Verdict verdict =
        refuse(Gate::kTimedRun, mismatch && mismatch->unwritten == mismatch->wrong ? "unwritten" : "mismatch",
               "the outputs of a timed launch are wrong. " + *wrong);
    verdict.mismatch = mismatch;
    return refused(std::move(verdict));
  }
  drop(launch.arm, "wrong outputs in a timed launch: " + *wrong);
  return std::nullopt;
}

std::optional<std::string> CaseSession::wrong_outputs(const Planned& launch, std::optional<Mismatch>& mismatch) {
  const Runner& runner = runners_[static_cast<std::size_t>(launch.arm)];
  if (!runner.own_case) {
    for (Mismatch& output : parts_.reference.compare(index_, *launch.set, launch.contents, derive_seed(seed_, 7))) {
      if (output.wrong > 0) {
        mismatch = std::move(output);
        return mismatch_message(*mismatch);
      }
    }
    return std::nullopt;
  }
  // A copy row: tensor 1 must hold what tensor 0 holds.
  const std::vector<Tensor>& tensors = runner.of->tensors;
  if (tensors.size() != 2 || tensors[0].extent != tensors[1].extent || tensors[0].dtype != tensors[1].dtype) {
    return "an arm with tensors of its own that is no copy cannot be verified";
  }
  const auto [from, to] = std::pair(launch.set->tensors()[0], launch.set->tensors()[1]);
  const std::int64_t differing = bench_.must(device_.differing_elements(from, to, tensors[1]), "comparing a copy");
  return differing == 0 ? std::nullopt : std::optional(std::to_string(differing) + " elements were not copied");
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

OrFault<ModuleHandle> CaseSession::module_of(Runner& runner) {
  return runner.modules->of(*runner.plan);
}

// A rival that does not do its work right must not be compared with: its samples go.
void CaseSession::drop(std::int32_t arm, const std::string& why) {
  Runner& runner = runners_[static_cast<std::size_t>(arm)];
  runner.dropped = true;
  std::erase_if(timing_.samples, [&](const Sample& sample) { return sample.arm == arm; });
  note(runner.name + " does not count here: " + why);
}

void CaseSession::note(std::string text) {
  if (std::ranges::find(timing_.notes, text) == timing_.notes.end()) {
    timing_.notes.push_back(std::move(text));
  }
}

Verdict CaseSession::refused(Verdict verdict) const {
  verdict.case_id = case_.id.value;
  verdict.family = case_.family;
  verdict.checks = timing_.verified;
  return verdict;
}

}  // namespace kf
