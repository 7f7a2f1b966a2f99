// SPDX-License-Identifier: Apache-2.0
#include "cases.h"

#include <algorithm>
#include <set>

#include "drawn_cases.h"
#include "neighbours.h"

namespace kf {
namespace {

// A tensor of one row has either NaN and Inf or zeros, and what matters may be one of them beside the other.
constexpr std::string_view kTwice = "nonfinite";
// Above this many elements a check costs more than all small ones together: two families are enough for it.
constexpr std::int64_t kLargeCase = 4LL << 20;
// About 3 s of two cores for a plain kernel and all families on the emulator.
constexpr std::int64_t kEmulatorCase = 1LL << 21;
// About 0.1 s of one core for a plain kernel and its check points: what a candidate may cost before it meets a GPU.
constexpr std::int64_t kEmulatorFirstCase = 1LL << 16;
constexpr std::size_t kEmulatorFirstCases = 6;
// Below this a case has too few blocks and tiles to show the usual faults.
constexpr std::int64_t kTellingCase = 4096;
constexpr std::size_t kProbes = 2;

constexpr std::int64_t kScreenBytes = 2LL << 30;  // of all tensors of a case

// Generated neighbours of timed cases in a confirmation.
constexpr std::int64_t kNeighbourBytes = 256LL << 20, kEmulatedNeighbourBytes = 512LL << 10;
// Small cases of drawn sizes in a confirmation.
constexpr DrawnLimits kDrawnLimits{1LL << 20, 1LL << 15}, kEmulatedDrawnLimits{1LL << 15, 1LL << 9};
constexpr std::size_t kDrawn = 16;
// Of a case on which halves of inputs are exchanged.
constexpr std::int64_t kInfluence = 1LL << 20, kEmulatedInfluence = 1LL << 16;
constexpr std::size_t kNeighbours = 12, kEmulatedNeighbours = 6;

const std::vector<Case>& set_of(const Spec& spec, std::string_view name) {
  static const std::vector<Case> kNone;
  const auto found = spec.cases.find(name);
  return found == spec.cases.end() ? kNone : found->second;
}

const Case& case_named(const Spec& spec, const std::string& id) {
  for (const auto& [set, cases] : spec.cases) {
    const auto found = std::ranges::find(cases, id, [](const Case& of) { return of.id.value; });
    if (found != cases.end()) {
      return *found;
    }
  }
  throw Fatal("spec " + spec.name + " has no case \"" + id + "\"");
}

std::vector<Case> named_or(const Spec& spec, const std::vector<std::string>& ids, std::vector<Case> all) {
  if (ids.empty()) {
    return all;
  }
  std::vector<Case> cases;
  for (const std::string& id : ids) {
    cases.push_back(case_named(spec, id));
  }
  return cases;
}

// What is timed on this device. An emulator takes the emulate cases, or without any the timed ones that are small
// enough.
std::vector<Case> timed_here(const Spec& spec, const DeviceFacts& facts) {
  if (facts.kind != "emulator") {
    return set_of(spec, "time");
  }
  std::vector<Case> cases = set_of(spec, "emulate");
  if (cases.empty()) {
    cases = set_of(spec, "time");
    std::erase_if(cases, [](const Case& of) { return elements_of(of) > kEmulatorCase; });
  }
  return cases;
}

// Neighbours of what is timed on this device, small cases of drawn sizes, and on a GPU one case of more than 2^31
// elements; none that is in `known`.
std::vector<Case> generated(const Spec& spec, const DeviceFacts& facts, const EvaluationSettings& settings,
                            const std::vector<Case>& known) {
  const bool emulated = facts.kind == "emulator";
  const std::vector<Case> timed = timed_here(spec, facts);
  const std::uint64_t seed = seed_for(settings.secret, Purpose::kConfirm, settings.variant, "neighbours", 0);
  std::vector<Case> made = neighbours(spec, timed, seed, emulated ? kEmulatedNeighbourBytes : kNeighbourBytes,
                                      emulated ? kEmulatedNeighbours : kNeighbours);
  std::ranges::move(other_choices(spec, timed, seed, emulated ? kEmulatedNeighbourBytes : kNeighbourBytes),
                    std::back_inserter(made));
  std::ranges::move(drawn_cases(spec, seed_for(settings.secret, Purpose::kConfirm, settings.variant, "sizes", 0),
                                emulated ? kEmulatedDrawnLimits : kDrawnLimits, kDrawn),
                    std::back_inserter(made));
  if (const std::optional<Case> beyond = emulated ? std::nullopt : beyond_32_bits(spec, timed, facts)) {
    made.push_back(*beyond);
  }
  const auto id = [](const Case& of) { return of.id.value; };
  std::erase_if(made, [&](const Case& of) { return std::ranges::find(known, of.id.value, id) != known.end(); });
  return made;
}

// Adds a set to what is checked, less what would take the emulator minutes.
void add_set(const std::string& name, std::vector<Case> cases, const DeviceFacts& facts, std::vector<Case>& check,
             ChosenCases& chosen) {
  CheckedSet set{name, 0, 0, ""};
  if (facts.kind == "emulator") {
    set.left_out =
        static_cast<std::int64_t>(std::erase_if(cases, [](const Case& of) { return elements_of(of) > kEmulatorCase; }));
    set.why = set.left_out > 0 ? "cases of more than 2^21 elements need a GPU" : "";
  }
  set.checked = std::ssize(cases);
  if (set.checked + set.left_out > 0) {
    chosen.checked.push_back(std::move(set));
  }
  std::ranges::move(cases, std::back_inserter(check));
}

// The smallest telling case and, where there is one, the next of another type: two builds at most.
void move_probes(std::vector<Case>& check, ChosenCases& chosen) {
  const auto telling = [](const Case& of) { return elements_of(of) >= kTellingCase; };
  const auto take = [&](auto position) {
    chosen.probe.push_back(*position);
    check.erase(position);
  };
  if (check.empty()) {
    return;
  }
  const auto first = std::ranges::find_if(check, telling);
  take(first == check.end() ? check.end() - 1 : first);
  while (chosen.probe.size() < kProbes) {
    const auto next = std::ranges::find_if(
        check, [&](const Case& of) { return telling(of) && of.types != chosen.probe.front().types; });
    if (next == check.end()) {
      return;
    }
    take(next);
  }
}

// Whether base addresses move: each tensor by multiples of its own alignment (src/gates/bench.cc), of which this is the
// smallest. 0 where the spec promises everything that an allocation has.
std::int64_t allowed_shift(const Case& of) {
  std::int64_t shift = kAllocationAlign;
  for (const Tensor& tensor : of.tensors) {
    shift = std::min(shift, tensor.shift_step());
  }
  return shift < kAllocationAlign ? shift : 0;
}

// What full-size contents are drawn from besides the case's own family: mixed inside one tensor where an input lists
// that, else the last family that one lists.
std::string hostile_family(const Spec& spec) {
  std::string last;
  for (const auto& [input, names] : spec.families) {
    if (std::ranges::find(names, "mixed") != names.end()) {
      return "mixed";
    }
    last = names.empty() ? last : names.back();
  }
  return last;
}

enum class FamilyChoice : std::uint8_t { kOwn, kOwnAndHostile, kEvery };

std::vector<std::string> families_of(const Spec& spec, const Case& of, FamilyChoice choice) {
  std::vector<std::string> families;
  const auto add = [&](const std::string& family) {
    if (!family.empty() && std::ranges::find(families, family) == families.end()) {
      families.push_back(family);
    }
  };
  add(of.family);
  if (choice == FamilyChoice::kOwnAndHostile) {
    add(hostile_family(spec));
  }
  for (const auto& [input, names] : spec.families) {
    for (const std::string& name : names) {
      if (choice == FamilyChoice::kEvery || families.empty()) {
        add(name);
      }
    }
  }
  add(families.empty() ? "normal" : "");
  return families;
}

}  // namespace

std::int64_t elements_of(const Case& of) {
  std::int64_t elements = 0;
  for (const Tensor& tensor : of.tensors) {
    elements += tensor.elements();
  }
  return elements;
}

ChosenCases choose_cases(const Spec& spec, const DeviceFacts& facts, const EvaluationSettings& settings) {
  ChosenCases chosen;
  chosen.time = named_or(spec, settings.time_cases, timed_here(spec, facts));
  if (settings.time && chosen.time.empty() && !set_of(spec, "time").empty()) {
    chosen.notes.emplace_back("nothing is estimated: each timed case has more than 2^21 elements; add emulate cases");
  }
  std::vector<Case> check;
  const auto add = [&](const std::string& name, std::vector<Case> cases) {
    add_set(name, std::move(cases), facts, check, chosen);
  };
  add("check", named_or(spec, settings.check_cases, set_of(spec, "check")));
  if (settings.held_out) {
    add("held_out", set_of(spec, "held_out"));
    add("neighbours", generated(spec, facts, settings, check));
  }
  if (settings.confirm && facts.kind != "emulator") {
    add("time", chosen.time);
  }
  if (std::ranges::any_of(chosen.checked, [](const CheckedSet& of) { return of.left_out > 0; })) {
    chosen.notes.push_back("cases to check: " + to_string(chosen.checked));
  }
  std::ranges::stable_sort(check, {}, elements_of);
  move_probes(check, chosen);
  chosen.check = std::move(check);
  return chosen;
}

std::vector<Case> small_enough_for_emulator_first(std::vector<Case> cases) {
  std::erase_if(cases, [](const Case& of) { return elements_of(of) > kEmulatorFirstCase; });
  return cases;
}

std::vector<Case> cases_for_emulator_first(const Spec& spec, const EvaluationSettings& settings) {
  std::vector<Case> small = named_or(spec, settings.check_cases, set_of(spec, "check"));
  if (settings.held_out) {
    std::ranges::copy(set_of(spec, "held_out"), std::back_inserter(small));
  }
  small = small_enough_for_emulator_first(std::move(small));
  std::ranges::stable_sort(small, {}, elements_of);
  if (settings.confirm) {
    return small;
  }
  std::map<Map<Dtype>, std::vector<Case>> by_type;
  for (Case& of : small) {
    by_type[of.types].push_back(std::move(of));
  }
  std::vector<Case> chosen;
  for (auto& [types, cases] : by_type) {
    if (chosen.size() + 2 > kEmulatorFirstCases) {
      break;
    }
    const auto telling = std::ranges::find_if(cases, [](const Case& of) { return elements_of(of) >= kTellingCase; });
    if (telling != cases.end() && telling != cases.end() - 1) {
      chosen.push_back(*telling);
    }
    chosen.push_back(cases.back());
  }
  return chosen;
}

std::vector<std::string> screening_cases(const Spec& spec, const DeviceFacts& facts, std::int32_t count) {
  std::vector<Case> cases = timed_here(spec, facts);
  std::ranges::stable_sort(cases, {}, elements_of);
  const auto quick = static_cast<std::size_t>(
      std::ranges::count_if(cases, [](const Case& of) { return bytes_of(of) <= kScreenBytes; }));
  if (quick >= static_cast<std::size_t>(std::max(count, 1))) {
    std::erase_if(cases, [](const Case& of) { return bytes_of(of) > kScreenBytes; });
  }
  std::map<Map<Dtype>, std::vector<Case>> by_type;
  for (const Case& of : cases) {
    by_type[of.types].push_back(of);
  }
  std::vector<std::string> ids;
  const auto wanted = std::min<std::size_t>(static_cast<std::size_t>(std::max(count, 1)), cases.size());
  for (std::size_t i = 0; ids.size() < wanted; ++i) {
    auto group = by_type.begin();
    std::advance(group, static_cast<std::ptrdiff_t>(i % by_type.size()));
    const std::vector<Case>& choices = group->second;
    // i-th of `wanted` evenly spaced places, moved to the next free one.
    std::size_t place = wanted == 1 ? choices.size() / 2 : (i % wanted) * (choices.size() - 1) / (wanted - 1);
    for (std::size_t tries = 0; tries < choices.size(); ++tries, place = (place + 1) % choices.size()) {
      if (std::ranges::find(ids, choices[place].id.value) == ids.end()) {
        ids.push_back(choices[place].id.value);
        break;
      }
    }
  }
  return ids;
}

std::vector<CheckPoint> check_points(const Spec& spec, const std::vector<Case>& cases, bool every_family,
                                     Purpose purpose, const EvaluationSettings& settings) {
  std::vector<CheckPoint> points;
  for (std::size_t i = 0; i < cases.size(); ++i) {
    const Case& of = cases[i];
    const FamilyChoice choice = !every_family                  ? FamilyChoice::kOwn
                                : elements_of(of) > kLargeCase ? FamilyChoice::kOwnAndHostile
                                                               : FamilyChoice::kEvery;
    std::vector<std::string> families = families_of(spec, of, choice);
    if (choice == FamilyChoice::kEvery && std::ranges::find(families, kTwice) != families.end()) {
      families.emplace_back(kTwice);
    }
    std::uint64_t use = 0;
    for (const std::string& family : families) {
      CheckPoint point;
      point.case_index = static_cast<std::int32_t>(i);
      point.family = family;
      for (int seed = 0; seed < 2; ++seed) {
        point.seeds.push_back(seed_for(settings.secret, purpose, settings.variant, of.id.value, use++));
      }
      point.misalign = points.size() % 2 == 1 ? allowed_shift(of) : 0;
      points.push_back(std::move(point));
    }
  }
  return points;
}

std::vector<CheckPoint> influence_points(const Spec& spec, const DeviceFacts& facts, const EvaluationSettings& settings,
                                         std::vector<Case>& cases) {
  const bool emulated = facts.kind == "emulator";
  const std::int64_t most = emulated ? kEmulatedInfluence : kInfluence;
  std::vector<Case> timed;
  for (const Case& of : timed_here(spec, facts)) {
    if (std::optional<Case> cut = slim(spec, of, most)) {
      timed.push_back(std::move(*cut));
    }
  }
  std::ranges::stable_sort(timed, std::greater{}, elements_of);
  // Of each choice of types the largest: there a half is easiest to ignore.
  std::vector<CheckPoint> points;
  std::set<Map<Dtype>> seen;
  for (Case& of : timed) {
    if (!seen.insert(of.types).second) {
      continue;
    }
    std::uint64_t use = 0;
    for (const std::string& family : families_of(spec, of, FamilyChoice::kOwnAndHostile)) {
      CheckPoint point;
      point.case_index = static_cast<std::int32_t>(cases.size());
      point.family = family;
      point.seeds = {seed_for(settings.secret, Purpose::kAdmit, settings.variant, of.id.value, use++)};
      points.push_back(std::move(point));
    }
    cases.push_back(std::move(of));
  }
  return points;
}

std::vector<AdmissionRow> timed_among_checked(const Spec& spec, const DeviceFacts& facts) {
  const bool emulated = facts.kind == "emulator";
  const auto with_of = [](const Case& of) {
    std::set<std::string> names;
    for (const Tensor& tensor : of.tensors) {
      names.insert(tensor.name);
    }
    return names;
  };
  // Of an emulator's figures the timed cases are part too: they are what those are scaled to.
  std::vector<Case> timed = timed_here(spec, facts);
  const std::size_t here = timed.size();
  if (emulated && !set_of(spec, "emulate").empty()) {
    std::ranges::copy(set_of(spec, "time"), std::back_inserter(timed));
  }
  std::vector<AdmissionRow> rows;
  for (const Case& of : timed) {
    const bool covered = std::ranges::any_of(set_of(spec, "check"), [&](const Case& check) {
      return check.types == of.types && with_of(check) == with_of(of) && elements_of(check) > 0 &&
             (!emulated || elements_of(check) <= kEmulatorCase);
    });
    if (!covered) {
      rows.push_back({"timed case " + of.id.value, "is also checked",
                      std::string("no check case ") + (emulated ? "of at most 2^21 elements " : "") +
                          "has its types and optional tensors, so no hostile contents are tried on them; add one",
                      false});
    }
  }
  if (emulated && here == 0 && !set_of(spec, "time").empty()) {
    rows.push_back({"emulate cases", "something is small enough to be executed",
                    "the spec has none, and each of its timed cases has more than 2^21 elements; add an emulate set of "
                    "small cases: the emulator's figures are of these, scaled to the timed ones",
                    false});
  }
  if (rows.empty() && !timed.empty()) {
    const auto sized = std::ranges::count_if(timed, [&](const Case& of) {
      return std::ranges::any_of(set_of(spec, "check"), [&](const Case& check) {
        return check.types == of.types && check.axes == of.axes && with_of(check) == with_of(of) &&
               (!emulated || elements_of(check) <= kEmulatorCase);
      });
    });
    const bool all = sized == std::ssize(timed);
    rows.push_back({"timed cases", "types and optional tensors are among the check cases",
                    "those of all " + std::to_string(timed.size()) + " are; the sizes of " + std::to_string(sized) +
                        (all        ? ""
                         : emulated ? ". The others are checked at full size in a confirmation on a GPU only"
                                    : ". The others are checked at full size in a confirmation; before it, some of "
                                      "their timed launches are compared with the reference"),
                    true});
  }
  return rows;
}

}  // namespace kf
