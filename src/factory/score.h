// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <span>
#include <string>
#include <vector>

#include <kfactory/attempt.h>
#include <kfactory/device_facts.h>
#include <kfactory/factory.h>
#include <kfactory/measurement.h>
#include <kfactory/spec.h>

namespace kf {

// Statistics of a measurement, recomputed from its samples. Pure: equal measurements give equal scores. Arms:
// "candidate", "champion", "champion_again", "baseline:NAME" (the fastest counts), "copy:NAME" (the fastest counts).
Score score_of(const Spec& spec, const DeviceFacts& facts, const Measurement& measurement, double margin);

// Nanoseconds under which the bytes that must move cannot be moved: reads, and writes beyond what the L2 can keep, at
// the device's bandwidth; or its flops cannot be done at the fastest rate that its types allow. 0: unknown.
double physics_floor(const Spec& spec, const Case& of, const DeviceFacts& facts);

// The case of any set that has this id; nullptr: none.
const Case* case_called(const Spec& spec, const std::string& id);

// The comparison of several cases taken together, from their ratio intervals: the geometric means of the bounds are
// held against the margin, so one clear win does not outvote a doubtful rest.
Comparison combine(std::span<const Interval> ratios, std::span<const Comparison> each, double margin);

// Right and measured attempts by the geomean of candidate / baseline over the cases that all of them have, the best
// first; equal ones: the earlier. Refused figures (noise, faster than physics) do not count.
struct Ranked {
  AttemptId id;
  double value = 0;  // of candidate / baseline, or plain nanoseconds in cases where not all have one
};
std::vector<Ranked> ranking(std::span<const Attempt> attempts);
std::optional<AttemptId> best_attempt(std::span<const Attempt> attempts);
// An event that tells of a speed-up, and whether that is an estimate.
Event scored_event(Event::Kind kind, AttemptId attempt, std::string text, const Score& score);
// The best of those that were confirmed, on every timed case; the best of all when none was.
std::optional<AttemptId> final_champion(std::span<const Attempt> attempts);

}  // namespace kf
