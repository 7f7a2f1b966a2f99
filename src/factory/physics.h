// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <optional>
#include <span>
#include <stop_token>
#include <string>
#include <vector>

#include <kfactory/factory.h>
#include <kfactory/job.h>

#include "costs.h"

namespace kf {

// Nanoseconds that a case's bytes need at the device's calibrated rate, and its flops at the most that a chip of its
// kind does; 0: unknown.
struct Floor {
  double moving = 0, computing = 0;
  double nanoseconds() const { return moving > computing ? moving : computing; }
};
Floor physics_floor_parts(const Spec& spec, const Case& of, const DeviceFacts& facts);

// What a profile asks for: enough to judge a floor, and evidence for readers.
const std::vector<std::string>& evidence_metrics();

// What counters say of a launch that was faster than its floor. Pure.
struct FloorFinding {
  enum class Kind : std::uint8_t {
    kNothing,        // no counters, or a floor that they say nothing about
    kReadTooLittle,  // its inputs were not read: the work was not done
    kFoundInL2,      // read, but from an L2 that a cold launch should not have found them in
    kFloorTooHigh,   // read in full: the floor is to blame
  } kind = Kind::kNothing;
  std::string text;
};
FloorFinding judge_floor(const Work& work, const Floor& floor, const DeviceFacts& facts, CacheState state,
                         const Map<double>& counters);

// Of a confirmation: the suspects, and up to eight of the timed cases, spread over them.
std::vector<std::string> counted_cases(const Job& timed, std::vector<std::string> suspects);

// Counters of the candidate in `cases` (all of `timed` when empty), taken in a process of their own. `timed` is the
// job whose times are in question.
struct TakenCounters {
  std::vector<CaseCounters> cases;
  std::string refused;  // why there are none
};
TakenCounters take_counters(const Factory& factory, const Job& timed, std::span<const std::string> cases,
                            CostLog& costs, std::stop_token stop);

// Of a scored measurement: the first case whose counters say that the work was not done.
std::optional<Verdict> refuted_by_counters(const Spec& spec, const DeviceFacts& facts, const Measurement& measurement,
                                           const Score& score);

}  // namespace kf
