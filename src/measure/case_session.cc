// SPDX-License-Identifier: Apache-2.0
#include "measure/case_session.h"

#include <algorithm>

#include "gates/damage.h"
#include "gates/verdicts.h"

namespace kf {
namespace {

constexpr std::size_t kMostBehindOneGate = 16;

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
    add(*original, original->name + std::string(kAgainSuffix));
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

// The original of the control, where it is not the candidate itself, is timed in two surroundings: beside the
// candidate, and in quads of the same order in which the control takes the candidate's place.
void CaseSession::add_apart_arm() {
  if (parts_.job.control_quads <= 0 || parts_.job.method != ClockMethod::kEvents || runners_.size() < 3 ||
      !runners_.back().name.ends_with(kAgainSuffix)) {
    return;
  }
  control_ = static_cast<std::int32_t>(runners_.size()) - 1;
  original_ = original_of(control_);
  if (original_ == 0) {
    control_ = original_ = -1;
    return;
  }
  apart_ = static_cast<std::int32_t>(timing_.arms.size());
  timing_.arms.push_back(runners_[static_cast<std::size_t>(original_)].name + std::string(kApartSuffix));
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
      group.sets.emplace_back(bench_, *group.of, no_workspaces_, 0,
                              derive_seed(seed_, 60 + static_cast<std::uint64_t>(i)));
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
    if (runner.name.ends_with(kAgainSuffix)) {
      const int original = original_of(arm);
      if (!runners_[static_cast<std::size_t>(original)].dropped) {
        pairs.emplace_back(arm, original);
      }
    } else if (arm != 0) {
      pairs.emplace_back(0, arm);
    }
  }
  return pairs;
}

CaseResult CaseSession::run() {
  add_runners();
  add_apart_arm();
  allocate_sets();
  const bool estimate = parts_.job.method == ClockMethod::kEstimate;
  const std::int32_t min_quads = estimate ? 1 : std::max(1, parts_.job.min_quads);
  const std::int32_t max_quads = estimate ? 1 : std::max(min_quads, parts_.job.max_quads);
  verification_.emplace(static_cast<std::int32_t>(runners_.size()), min_quads, derive_seed(seed_, 3));

  CaseResult result;
  result.refusal = first_launches();
  if (!result.refusal && !estimate) {
    result.refusal = quad(-1, Quad::kUnrecorded);  // clocks and caches settle
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
    result.refusal = result.refusal ? result.refusal : quads(number);
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

// A recorded quad and, among the first ones, its counterpart apart from the candidate, in random order.
std::optional<Verdict> CaseSession::quads(std::int32_t number) {
  const auto alive = [&](std::int32_t arm) { return !runners_[static_cast<std::size_t>(arm)].dropped; };
  const bool apart = apart_ >= 0 && number < parts_.job.control_quads && alive(control_) && alive(original_);
  const bool first = (derive_seed(seed_, 9'000'000 + static_cast<std::uint64_t>(number)) & 1) != 0;
  std::optional<Verdict> refusal = apart && first ? quad(number, Quad::kApart) : std::nullopt;
  refusal = refusal ? refusal : quad(number, Quad::kRecorded);
  return refusal || !apart || first ? refusal : quad(number, Quad::kApart);
}

std::optional<Verdict> CaseSession::quad(std::int32_t number, Quad kind) {
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
    const std::int32_t arm = kind == Quad::kApart && order[place] == 0 ? control_ : order[place];
    const std::int32_t occurrence = seen[static_cast<std::size_t>(arm)]++;
    Planned launch;
    launch.arm = arm, launch.quad = number, launch.occurrence = occurrence;
    launch.place = static_cast<std::int32_t>(place);
    if (kind == Quad::kRecorded) {
      launch.record_as = arm;
    } else if (kind == Quad::kApart && arm == original_) {
      launch.record_as = apart_;
    }
    launch.verify = kind == Quad::kRecorded && verifies(arm, number, occurrence);
    if (!runners_[static_cast<std::size_t>(arm)].dropped) {  // by an earlier batch of this quad
      planned.push_back(launch);
    }
    // A batch holds as many launches as there are sets: each has contents of its own.
    const bool full = planned.size() >= std::min(kMostBehindOneGate, groups_.front().sets.size());
    if (!planned.empty() && (full || place + 1 == order.size())) {
      if (auto refusal = batch(planned)) {
        return refusal;
      }
      planned.clear();
    }
  }
  return std::nullopt;
}

// Kernel records only tell what ran and for how long; the same arms were verified where events timed them.
bool CaseSession::verifies(std::int32_t arm, std::int32_t quad, std::int32_t occurrence) const {
  switch (parts_.job.method) {
    case ClockMethod::kEstimate:
      return true;
    case ClockMethod::kCupti:
      return false;
    default:
      return verification_->verifies(arm, quad, occurrence);
  }
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
    runner.workspaces[static_cast<std::size_t>(launch.occurrence) % 2].renew({}, derive_seed(poison, 1));
  });
}

// What an emulator counted, by arm.
void CaseSession::keep_counts(const std::vector<Planned>& planned) {
  const std::vector<std::vector<LaunchCounts>> counts = device_.launch_counts();
  for (std::size_t i = 0; i < planned.size() && i < counts.size(); ++i) {
    if (planned[i].record_as >= 0) {
      timing_.counts.resize(timing_.arms.size());
      timing_.counts[static_cast<std::size_t>(planned[i].record_as)] = counts[i];
    }
  }
}

std::optional<Verdict> CaseSession::batch(std::vector<Planned>& planned) {
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
                           runner.workspaces[static_cast<std::size_t>(launch.occurrence) % 2].workspaces()});
  }
  bench_.must(device_.scrub_shared(derive_seed(seed_, 5'000'000 + uses_)), "scrubbing shared memory");
  bench_.must(parts_.busy.during([&] { return device_.settle(); }), "preparing a batch");
  parts_.candidate(untrusted_in(planned));
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
  for (std::size_t i = 0; i < planned.size(); ++i) {
    if (planned[i].record_as < 0) {
      continue;  // the control's launches in the candidate's place, and the first quad
    }
    Sample sample = (*samples)[i];
    sample.arm = planned[i].record_as, sample.quad = planned[i].quad, sample.slot = planned[i].place;
    timing_.samples.push_back(sample);
  }
  keep_counts(planned);
  for (const Planned& launch : planned) {
    if (!verifies || input_digests(*launch.set) == launch.inputs) {
      continue;
    }
    const std::string why = "inputs of a timed launch of " + runners_[static_cast<std::size_t>(launch.arm)].name +
                            " changed during a batch of timed launches: inputs are read-only";
    if (!untrusted_in(planned)) {
      trusted_failed(planned, "input_changed", why);
      return std::nullopt;
    }
    refused_arm_ = suspect_of(planned);
    return refused(refuse(Gate::kTimedRun, "input_changed", why));
  }
  return verify_all(planned);
}

OrFault<ModuleHandle> CaseSession::module_of(Runner& runner) {
  return runner.modules->of(*runner.plan);
}

// A rival that does not do its work right must not be compared with: its samples go.
void CaseSession::drop(std::int32_t arm, const std::string& why) {
  Runner& runner = runners_[static_cast<std::size_t>(arm)];
  runner.dropped = true;
  const bool of_control = arm == control_ || arm == original_;
  std::erase_if(timing_.samples, [&](const Sample& sample) {
    return sample.arm == arm || (of_control && apart_ >= 0 && sample.arm == apart_);
  });
  note(runner.name + std::string(kDoesNotCount) + why);
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
