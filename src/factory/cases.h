// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cstdint>
#include <string>
#include <vector>

#include <kfactory/device_facts.h>
#include <kfactory/factory.h>
#include <kfactory/job.h>
#include <kfactory/spec.h>

namespace kf {

// Elements of all tensors of a case: what it costs to fill, run and compare.
std::int64_t elements_of(const Case& of);

// What one evaluation runs on, each list in the order in which it is run.
struct ChosenCases {
  std::vector<Case> probe;  // few and small, of different types: a wrong candidate dies here
  std::vector<Case> check;  // the other check cases, small first
  std::vector<Case> time;
  std::vector<CheckedSet> checked;  // how much of each set `probe` and `check` are
  std::vector<std::string> notes;   // what was left out, and why
};
// On the emulator the timed set is "emulate", and check cases that would take it minutes are left out, with a note.
// Throws Fatal when a named case does not exist.
ChosenCases choose_cases(const Spec& spec, const DeviceFacts& facts, const EvaluationSettings& settings);

// Of the check cases (held-out ones too where the settings ask for those) at most 2^16 elements large: for a screening
// the smallest telling one and the largest of each choice of types, six at most; for a confirmation all of them.
std::vector<Case> cases_for_emulator_first(const Spec& spec, const EvaluationSettings& settings);
// Those of a sweep's probes that are no larger.
std::vector<Case> small_enough_for_emulator_first(std::vector<Case> cases);

// Quads of a screening: it ranks. The confirmation of the best one measures until its intervals are narrow.
inline constexpr std::int32_t kScreenQuads = 8;

// Up to `count` timed cases that stand for all of them: both ends and the middle by size, types in turn. Cases above
// 2 GiB are left to the confirmation where the others suffice: making their contents anew takes seconds.
std::vector<std::string> screening_cases(const Spec& spec, const DeviceFacts& facts, std::int32_t count);

// Every check of these cases: families x fresh seeds, every other one at shifted base addresses. `every_family`: all
// families of the spec for each case (large cases: the own one and the spec's most hostile); otherwise the case's own.
std::vector<CheckPoint> check_points(const Spec& spec, const std::vector<Case>& cases, bool every_family,
                                     Purpose purpose, const EvaluationSettings& settings);

// Where half of an input must matter: cases with the extents of timed ones, cut along the reference's slice axis, and
// the families that full-size checks use. Cases are appended to `cases`, which the points index.
std::vector<CheckPoint> influence_points(const Spec& spec, const DeviceFacts& facts, const EvaluationSettings& settings,
                                         std::vector<Case>& cases);

// What is timed is also checked: each timed case's types and optional tensors occur in a check case too, where all
// families are tried on them.
std::vector<AdmissionRow> timed_among_checked(const Spec& spec, const DeviceFacts& facts);

}  // namespace kf
