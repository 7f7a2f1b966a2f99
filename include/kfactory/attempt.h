// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <chrono>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <kfactory/build.h>
#include <kfactory/estimate.h>
#include <kfactory/measurement.h>
#include <kfactory/model.h>
#include <kfactory/plan.h>
#include <kfactory/values.h>
#include <kfactory/verdict.h>

namespace kf {

// One timed case: medians in nanoseconds, ratios candidate / other (below 1 is faster).
struct CaseScore {
  std::string case_id;
  Interval candidate, baseline, champion, copy;  // samples == 0: that arm was not there
  Interval candidate_records, baseline_records,
      copy_records;                   // device time by CUPTI's kernel records (method "cupti"), from
                                      // another process; samples == 0: none were taken
  std::string baseline_name;          // the fastest baseline that is correct in this case
  Interval to_baseline, to_champion;  // ratio_interval(...)
  Comparison against_baseline = Comparison::kInconclusive, against_champion = Comparison::kInconclusive;
  std::string scaled_from;  // an estimate of the emulator: the case that ran, whose counts were scaled to this one
  std::optional<Estimate> estimate;  // of the emulator, of the candidate: where its bound comes from
  std::vector<LaunchCounts> counts;  // ... and what its launches did
  double floor_nanoseconds = 0;      // physics: work over calibrated rates; 0 = unknown
  bool suspect = false;              // faster than its floor, and no counters that explain it
  Map<double> counters;              // of the candidate's launch, by metric; where they were taken
  std::vector<std::string> notes;
};

struct Score {
  ClockMethod method = ClockMethod::kEvents;  // kEstimate: the emulator's figures, never a speed
  CacheState state = CacheState::kCold;
  std::vector<CaseScore> cases;
  double speedup = 0;                // geomean over cases of baseline / candidate
  double speedup_over_champion = 0;  // 0: there was no champion
  Comparison against_baseline = Comparison::kInconclusive, against_champion = Comparison::kInconclusive;
  bool confirmed = false;                    // again in a fresh process with fresh seeds
  std::string counters_refused;              // why there are no counters, where they were wanted
  std::optional<SanitizerReport> sanitizer;  // of a confirmation: compute-sanitizer's word, evidence only
  std::string emulator;                      // ... and the emulator's, where it went before a GPU
};

// Is this case among those that a score is about? All are, but where counts of cases that ran were scaled to the timed
// ones: then those that were scaled, and the others are listed beside them.
bool counts_in(const Score& score, const CaseScore& of);
// How many cases Score::speedup is the mean of: those, as far as a baseline was right in them.
std::int64_t cases_in_speedup(const Score& score);

// How much of one set of cases an evaluation compared with the reference.
struct CheckedSet {
  std::string set;  // "check", "held_out", "time" as in the spec; "neighbours": generated ones
  std::int64_t checked = 0, left_out = 0;
  std::string why;  // where some were left out: "cases of more than 2^20 elements need a GPU"
  bool operator==(const CheckedSet&) const = default;
};
// "18 of 24 check cases, none of 2 held-out cases (left out: ...)"; empty for none.
std::string to_string(const std::vector<CheckedSet>& checked);

enum class AttemptState : std::uint8_t {
  kOpen,      // under way, or interrupted: resume goes on from its records
  kNoReply,   // the model gave no answer
  kRejected,  // a gate refused it: `verdict` says which and why
  kBuilt,     // device none: compiled and audited, not executed
  kMeasured,  // right and timed (or estimated): `score` is there
};
std::string_view to_string(AttemptState state);

// The projection of one attempt's records: what policy, prompts and `show` see.
struct Attempt {
  AttemptId id;
  Role role = Role::kWriter;
  std::uint64_t ordinal = 0;  // of its role
  std::optional<AttemptId> parent;
  std::string direction;  // why it was asked for
  AttemptState state = AttemptState::kOpen;
  std::string hypothesis, source, plan_json;
  std::string source_hash;         // of the normalised PTX, else of the source; for duplicates
  std::vector<KernelUse> kernels;  // of the variant that counts, first timed case
  Assignment tune;                 // of the variant that counts
  std::int32_t variants = 0;       // tune points tried
  Verdict verdict;
  std::optional<Score> score;
  Usage usage;
  std::chrono::milliseconds duration{0};
  std::vector<Cost> costs;          // of its evaluation; of its confirmation where there was one
  std::vector<CheckedSet> checked;  // by the evaluation that counts (the confirmation where there was one), if it
                                    // passed; empty in runs of older versions: not recorded
  std::string settled;  // the source with the tune points that count written into its plan; empty: it has none
};

// What of an attempt is kept as a winner and measured by `bench`.
inline const std::string& winning_source(const Attempt& attempt) {
  return attempt.settled.empty() ? attempt.source : attempt.settled;
}

}  // namespace kf
