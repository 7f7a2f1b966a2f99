// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include <kfactory/case.h>
#include <kfactory/values.h>

namespace kf {

enum class ClockMethod : std::uint8_t { kEvents, kGraph, kCupti, kEstimate, kHost };
std::string_view to_string(ClockMethod method);

// One launch of one arm. Every sample reaches the factory, which recomputes all statistics.
struct Sample {
  std::int32_t arm = 0;   // index into CaseTiming::arms
  std::int32_t quad = 0;  // palindrome that it belongs to
  std::int32_t slot = 0;  // place inside the quad
  double nanoseconds = 0;
  double sm_hertz = 0;  // mean SM clock; 0 = not read
};

// What one launch of a plan did, counted by the emulator.
struct LaunchCounts {
  std::string id;  // Launch::id; "memset" for a workspace that is cleared
  std::int64_t blocks = 0;
  std::int64_t warp_instructions = 0, lane_instructions = 0;
  Map<std::int64_t> mix;        // warp instructions by kind: "fp32", "integer", "memory", ...
  std::int64_t dram_bytes = 0;  // distinct 32-byte sectors of global memory that were touched, in bytes
  // Of 32 bytes, a warp's request counts each once. Excess: more than the bytes of the request fill.
  std::int64_t load_sectors = 0, store_sectors = 0, excess_load_sectors = 0, excess_store_sectors = 0;
  std::int64_t global_requests = 0;
  // Of shared memory. Conflicts: wavefronts more than the request would need without bank conflicts.
  std::int64_t shared_requests = 0, shared_wavefronts = 0, bank_conflicts = 0;
  std::int64_t barriers = 0, atomics = 0, tensor_flops = 0;
};

// What the names of arms that are controls end with: the same cubin loaded a second time, and samples of an arm in
// quads without the candidate.
inline constexpr std::string_view kAgainSuffix = "_again", kApartSuffix = "_apart";
// A note of an arm that was dropped from a case begins with its name and this; then comes why.
inline constexpr std::string_view kDoesNotCount = " does not count here: ";
inline constexpr std::string_view kWrongOutputs = "wrong outputs in a timed launch: ";

struct CaseTiming {
  std::string case_id;
  ClockMethod method = ClockMethod::kEvents;
  CacheState state = CacheState::kCold;
  std::vector<std::string> arms;  // "candidate", "champion", "champion_again", "baseline:naive", "copy"
  std::vector<Sample> samples;
  std::vector<std::string> notes;  // "clock fell to 1.2 GHz in quad 3", "rotation limited by memory"
  std::int64_t verified = 0;       // timed launches whose outputs were compared
  // kEstimate: for each arm, its plan's launches. Empty otherwise.
  std::vector<std::vector<LaunchCounts>> counts;
  std::string scaled_from;  // kEstimate: nothing ran; the case whose counts were scaled to this one
};

// Hardware counters of the candidate's launch in one case, by the field's metric names, from a process that decides
// nothing else.
struct CaseCounters {
  std::string case_id;
  Map<double> values;
  std::vector<std::string> notes;  // why there are none, what they say
};

// What one tool of compute-sanitizer said of a few small checks of a kernel: evidence, never a verdict.
struct ToolRun {
  std::string tool;     // "memcheck", "racecheck", "initcheck", "synccheck"
  std::string version;  // of compute-sanitizer, as it says itself
  bool ran = false;     // to its end, with a summary
  std::int64_t errors = 0, warnings = 0;
  std::string text;  // cleaned and bounded: its first findings, or why there are none
  double milliseconds = 0;
};
struct SanitizerReport {
  std::string not_run;  // why no tool ran at all: not installed, where was looked
  std::vector<ToolRun> tools;
};

struct Measurement {
  std::vector<CaseTiming> cases;
  double device_busy_share = 0;  // of the timing phase's wall time; its arms' own share beside it
  double arms_share = 0;
  std::string device, driver;
  std::vector<CaseCounters> counters;  // where they were taken
  std::string counters_refused;        // why there are none, where they were wanted: "not permitted here: ..."
};

// median of an arm with the 95 % interval of the median (binomial order statistics), nanoseconds.
struct Interval {
  double median = 0, low = 0, high = 0;
  std::int64_t samples = 0;
};
Interval median_interval(std::vector<double> nanoseconds);

// Ratio a / b of two arms from paired quads: median of exp(log ratios), with a 95 % interval.
Interval ratio_interval(const CaseTiming& timing, int arm_a, int arm_b);

enum class Comparison : std::uint8_t { kWin, kLoss, kTie, kInconclusive, kRefused };
std::string_view to_string(Comparison comparison);
// Does an arm's control, the same cubin a second time, take another time than its original by more than the margin,
// with an interval that excludes 1? Then the session says nothing.
bool control_differs(const CaseTiming& timing, double margin);
// WIN: upper bound of candidate/other below 1 - margin; LOSS: lower bound above 1 + margin; TIE: inside.
// REFUSED: control_differs.
Comparison compare_arms(const CaseTiming& timing, int candidate, int other, double margin);

double geomean(const std::vector<double>& positive);

}  // namespace kf
