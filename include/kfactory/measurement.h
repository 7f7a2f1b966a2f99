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

struct CaseTiming {
  std::string case_id;
  ClockMethod method = ClockMethod::kEvents;
  CacheState state = CacheState::kCold;
  std::vector<std::string> arms;  // "candidate", "champion", "champion_again", "baseline:naive", "copy"
  std::vector<Sample> samples;
  std::vector<std::string> notes;  // "clock fell to 1.2 GHz in quad 3", "rotation limited by memory"
  std::int64_t verified = 0;       // timed launches whose outputs were compared
};

struct Measurement {
  std::vector<CaseTiming> cases;
  double device_busy_share = 0;  // of the timing phase's wall time; its arms' own share beside it
  double arms_share = 0;
  std::string device, driver;
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
// WIN: upper bound of candidate/other below 1 - margin; LOSS: lower bound above 1 + margin; TIE: inside.
// REFUSED: champion again against champion is itself outside the margin (the machine is too noisy).
Comparison compare_arms(const CaseTiming& timing, int candidate, int other, double margin);

double geomean(const std::vector<double>& positive);

}  // namespace kf
