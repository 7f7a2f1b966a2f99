// SPDX-License-Identifier: Apache-2.0
#include "score.h"

#include <algorithm>
#include <limits>
#include <map>

#include "physics.h"

namespace kf {
namespace {

// A share of the floor that calibration and the L2's last lines may explain.
constexpr double kPhysicsSlack = 0.9;

int index_of(const CaseTiming& timing, std::string_view arm) {
  const auto found = std::ranges::find(timing.arms, arm);
  return found == timing.arms.end() ? -1 : static_cast<int>(found - timing.arms.begin());
}

Interval time_of(const CaseTiming& timing, int arm) {
  std::vector<double> nanoseconds;
  for (const Sample& sample : timing.samples) {
    if (sample.arm == arm) {
      nanoseconds.push_back(sample.nanoseconds);
    }
  }
  return nanoseconds.empty() ? Interval{} : median_interval(std::move(nanoseconds));
}

// The arm with the smallest median among those whose name begins so; -1: none has samples.
int fastest(const CaseTiming& timing, std::string_view prefix) {
  int best = -1;
  double least = 0;
  for (int arm = 0; arm < static_cast<int>(timing.arms.size()); ++arm) {
    const std::string& name = timing.arms[static_cast<std::size_t>(arm)];
    if (!name.starts_with(prefix) || name.ends_with(kAgainSuffix) || name.ends_with(kApartSuffix)) {  // controls
      continue;
    }
    const Interval time = time_of(timing, arm);
    if (time.samples > 0 && (best < 0 || time.median < least)) {
      best = arm;
      least = time.median;
    }
  }
  return best;
}

std::string why_suspect(const CaseScore& score, const std::string& more) {
  return "SUSPECT: faster than its bytes can move, or its flops be done, on this device; not counted" +
         (more.empty() ? " until explained" : ": " + more) + (score.counters.empty() ? "" : " (counters)");
}

// Counters decide where they were taken: a launch that read everything shows that the floor is too high.
void judge_against_floor(const Spec& spec, const Case& of, const DeviceFacts& facts, const CaseTiming& timing,
                         CaseScore& score) {
  const Floor floor = physics_floor_parts(spec, of, facts);
  score.floor_nanoseconds = floor.nanoseconds();
  const bool judged = timing.method != ClockMethod::kEstimate && timing.state != CacheState::kWarm;
  if (!judged || score.floor_nanoseconds <= 0 || score.candidate.samples == 0 ||
      score.candidate.median >= kPhysicsSlack * score.floor_nanoseconds) {
    return;
  }
  const OrError<Work> work = work_of(spec, of);
  const FloorFinding finding =
      work && !score.counters.empty() ? judge_floor(*work, floor, facts, timing.state, score.counters) : FloorFinding{};
  if (finding.kind == FloorFinding::Kind::kFloorTooHigh) {
    score.notes.push_back("faster than its floor, but " + finding.text);
    return;
  }
  score.suspect = true;
  score.against_baseline = score.against_champion = Comparison::kRefused;
  score.notes.push_back(why_suspect(score, finding.text));
}

void add_kernel_records(CaseScore& score, const CaseTiming& records) {
  score.candidate_records = time_of(records, index_of(records, "candidate"));
  score.baseline_records = time_of(records, index_of(records, "baseline:" + score.baseline_name));
  score.copy_records = time_of(records, fastest(records, "copy"));
}

// The emulator counts what instructions do, and a copy row has none of ours: its estimate is the bytes of one read and
// one write at the target's bandwidth.
void estimate_copy(const Spec& spec, const Case& of, const DeviceFacts& facts, CaseScore& score) {
  const OrError<Work> work = work_of(spec, of);
  if (!work || facts.dram_bytes_per_second <= 0) {
    return;
  }
  const double nanoseconds =
      1e9 * static_cast<double>(work->read_bytes + work->write_bytes) / facts.dram_bytes_per_second;
  score.copy = {nanoseconds, nanoseconds, nanoseconds, 1};
  score.notes.emplace_back("the copy row is an estimate: the operation's bytes at the target's bandwidth, no launch");
}

CaseScore score_case(const Spec& spec, const DeviceFacts& facts, const Measurement& measurement,
                     const CaseTiming& timing, double margin) {
  CaseScore score;
  score.case_id = timing.case_id;
  score.notes = timing.notes;
  const int candidate = index_of(timing, "candidate");
  const int champion = index_of(timing, "champion");
  const int baseline = fastest(timing, "baseline:");
  const int copy = fastest(timing, "copy");
  score.candidate = time_of(timing, candidate);
  if (baseline >= 0) {
    score.baseline = time_of(timing, baseline);
    score.baseline_name = timing.arms[static_cast<std::size_t>(baseline)].substr(std::string_view("baseline:").size());
    score.to_baseline = ratio_interval(timing, candidate, baseline);
    score.against_baseline = compare_arms(timing, candidate, baseline, margin);
  }
  if (champion >= 0) {
    score.champion = time_of(timing, champion);
    score.to_champion = ratio_interval(timing, candidate, champion);
    score.against_champion = compare_arms(timing, candidate, champion, margin);
  }
  if (copy >= 0) {
    score.copy = time_of(timing, copy);
  }
  score.scaled_from = timing.scaled_from;
  if (candidate >= 0 && static_cast<std::size_t>(candidate) < timing.counts.size()) {
    score.counts = timing.counts[static_cast<std::size_t>(candidate)];
    score.estimate = estimate(score.counts, facts);
  }
  if (const auto counted = std::ranges::find(measurement.counters, timing.case_id, &CaseCounters::case_id);
      counted != measurement.counters.end()) {
    score.counters = counted->values;
  }
  if (const Case* of = case_called(spec, timing.case_id)) {
    judge_against_floor(spec, *of, facts, timing, score);
    if (timing.method == ClockMethod::kEstimate && copy < 0) {
      estimate_copy(spec, *of, facts, score);
    }
  }
  return score;
}

double speedup_over(const std::vector<Interval>& ratios) {
  std::vector<double> inverse;
  for (const Interval& ratio : ratios) {
    if (ratio.samples > 0 && ratio.median > 0) {
      inverse.push_back(1.0 / ratio.median);
    }
  }
  return inverse.empty() ? 0.0 : geomean(inverse);
}

// A veto turns a win into what it is: a kernel that is too slow somewhere.
void apply_veto(const Spec& spec, Score& score) {
  if (spec.objective.veto <= 0 || score.against_baseline != Comparison::kWin) {
    return;
  }
  for (CaseScore& of : score.cases) {
    if (of.to_baseline.samples > 0 && of.to_baseline.low > 1.0 + spec.objective.veto) {
      of.notes.push_back("slower than the baseline by more than the spec's veto");
      score.against_baseline = Comparison::kLoss;
    }
  }
}

}  // namespace

double physics_floor(const Spec& spec, const Case& of, const DeviceFacts& facts) {
  return physics_floor_parts(spec, of, facts).nanoseconds();
}

const Case* case_called(const Spec& spec, const std::string& id) {
  for (const auto& [set, cases] : spec.cases) {
    const auto found = std::ranges::find(cases, id, [](const Case& of) { return of.id.value; });
    if (found != cases.end()) {
      return &*found;
    }
  }
  return nullptr;
}

Comparison combine(std::span<const Interval> ratios, std::span<const Comparison> each, double margin) {
  if (ratios.empty() || std::ranges::find(each, Comparison::kRefused) != each.end()) {
    return ratios.empty() ? Comparison::kInconclusive : Comparison::kRefused;
  }
  std::vector<double> lows, highs;
  for (const Interval& ratio : ratios) {
    if (ratio.samples == 0 || ratio.low <= 0) {
      return Comparison::kInconclusive;
    }
    lows.push_back(ratio.low);
    highs.push_back(ratio.high);
  }
  const double low = geomean(lows);
  const double high = geomean(highs);
  if (high < 1.0 - margin) {
    return Comparison::kWin;
  }
  if (low > 1.0 + margin) {
    return Comparison::kLoss;
  }
  return low >= 1.0 - margin && high <= 1.0 + margin ? Comparison::kTie : Comparison::kInconclusive;
}

Score score_of(const Spec& spec, const DeviceFacts& facts, const Measurement& measurement, double margin) {
  Score score;
  std::vector<Interval> to_baseline, to_champion;
  std::vector<Comparison> baseline, champion;
  const bool scaled = std::ranges::any_of(measurement.cases, [](const auto& of) { return !of.scaled_from.empty(); });
  for (const CaseTiming& timing : measurement.cases) {
    if (timing.method == ClockMethod::kCupti) {
      continue;  // beside the figures that decide, below
    }
    score.method = timing.method;
    score.state = timing.state;
    const CaseScore& of = score.cases.emplace_back(score_case(spec, facts, measurement, timing, margin));
    if (scaled && timing.scaled_from.empty()) {
      continue;  // listed; the score is about the timed cases
    }
    if (of.baseline.samples > 0) {
      to_baseline.push_back(of.to_baseline);
      baseline.push_back(of.against_baseline);
    }
    if (of.champion.samples > 0) {
      to_champion.push_back(of.to_champion);
      champion.push_back(of.against_champion);
    }
  }
  for (const CaseTiming& timing : measurement.cases) {
    const auto of = std::ranges::find(score.cases, timing.case_id, &CaseScore::case_id);
    if (timing.method == ClockMethod::kCupti && of != score.cases.end()) {
      add_kernel_records(*of, timing);
    }
  }
  score.counters_refused = measurement.counters_refused;
  score.speedup = speedup_over(to_baseline);
  score.speedup_over_champion = speedup_over(to_champion);
  score.against_baseline = combine(to_baseline, baseline, margin);
  score.against_champion = combine(to_champion, champion, margin);
  apply_veto(spec, score);
  return score;
}

static bool has_figure(const Interval& figure) {
  return figure.samples > 0 && figure.median > 0;
}

std::vector<Ranked> ranking(std::span<const Attempt> attempts) {
  std::vector<const Attempt*> measured;
  for (const Attempt& attempt : attempts) {
    if (attempt.state == AttemptState::kMeasured && attempt.score &&
        attempt.score->against_baseline != Comparison::kRefused) {
      measured.push_back(&attempt);
    }
  }
  // Figures of one case are of one kind: ratios where every attempt has one, else plain times.
  struct Figures {
    std::size_t ratios = 0, times = 0;
  };
  std::map<std::string, Figures> seen;
  for (const Attempt* attempt : measured) {
    for (const CaseScore& of : attempt->score->cases) {
      if (counts_in(*attempt->score, of)) {
        seen[of.case_id].ratios += has_figure(of.to_baseline) ? 1 : 0;
        seen[of.case_id].times += has_figure(of.candidate) ? 1 : 0;
      }
    }
  }
  std::vector<Ranked> ranked;
  for (const Attempt* attempt : measured) {
    std::vector<double> common;
    for (const CaseScore& of : attempt->score->cases) {
      const auto& [ratios, times] = seen[of.case_id];
      if (counts_in(*attempt->score, of) && (ratios == measured.size() || times == measured.size())) {
        common.push_back(ratios == measured.size() ? of.to_baseline.median : of.candidate.median);
      }
    }
    ranked.push_back({attempt->id, common.empty() ? std::numeric_limits<double>::infinity() : geomean(common)});
  }
  std::ranges::stable_sort(ranked, {}, &Ranked::value);
  return ranked;
}

Event scored_event(Event::Kind kind, AttemptId attempt, std::string text, const Score& score) {
  return {kind, attempt, std::move(text), score.speedup, score.method == ClockMethod::kEstimate};
}

std::optional<AttemptId> best_attempt(std::span<const Attempt> attempts) {
  const std::vector<Ranked> ranked = ranking(attempts);
  return ranked.empty() ? std::nullopt : std::optional(ranked.front().id);
}

std::optional<AttemptId> final_champion(std::span<const Attempt> attempts) {
  std::vector<Attempt> confirmed;
  std::ranges::copy_if(attempts, std::back_inserter(confirmed),
                       [](const Attempt& attempt) { return attempt.score && attempt.score->confirmed; });
  const std::optional<AttemptId> best = best_attempt(confirmed);
  return best ? best : best_attempt(attempts);
}

}  // namespace kf
