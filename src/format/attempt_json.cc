// SPDX-License-Identifier: Apache-2.0
#include "format/attempt_json.h"

#include "format/fields.h"

namespace kf {

template <>
struct Words<Comparison> {
  static constexpr std::array<std::string_view, 5> kWords{"win", "loss", "tie", "inconclusive", "refused"};
};
template <>
struct Words<Role> {
  static constexpr std::array<std::string_view, 5> kWords{"planner", "writer", "repairer", "reviewer", "librarian"};
};
template <>
struct Words<AttemptState> {
  static constexpr std::array<std::string_view, 5> kWords{"open", "no_reply", "rejected", "built", "measured"};
};

template <class V, Is<Interval> T>
void fields(V& visit, T& x) {
  visit("median", x.median), visit("low", x.low), visit("high", x.high), visit("samples", x.samples);
}
template <class V, Is<Estimate> T>
void fields(V& visit, T& x) {
  visit("latency", x.latency), visit("dram", x.dram), visit("l2", x.l2), visit("issue", x.issue);
  visit("shared", x.shared), visit("tensor", x.tensor), visit("total", x.total);
}
template <class V, Is<CaseScore> T>
void fields(V& visit, T& x) {
  visit("case_id", x.case_id), visit("candidate", x.candidate), visit("baseline", x.baseline);
  visit("champion", x.champion), visit("copy", x.copy), visit("candidate_records", x.candidate_records);
  visit("baseline_records", x.baseline_records), visit("copy_records", x.copy_records);
  visit("baseline_name", x.baseline_name);
  visit("to_baseline", x.to_baseline), visit("to_champion", x.to_champion);
  visit("against_baseline", x.against_baseline), visit("against_champion", x.against_champion);
  visit("floor_nanoseconds", x.floor_nanoseconds), visit("suspect", x.suspect), visit("counters", x.counters);
  visit("notes", x.notes), visit("scaled_from", x.scaled_from), visit("estimate", x.estimate);
  visit("counts", x.counts);
}
template <class V, Is<Score> T>
void fields(V& visit, T& x) {
  visit("method", x.method), visit("state", x.state), visit("cases", x.cases), visit("speedup", x.speedup);
  visit("speedup_over_champion", x.speedup_over_champion), visit("against_baseline", x.against_baseline);
  visit("against_champion", x.against_champion), visit("confirmed", x.confirmed);
  visit("counters_refused", x.counters_refused), visit("sanitizer", x.sanitizer);
  visit("emulator", x.emulator);
}
template <class V, Is<CheckedSet> T>
void fields(V& visit, T& x) {
  visit("set", x.set), visit("checked", x.checked), visit("left_out", x.left_out), visit("why", x.why);
}
template <class V, Is<Usage> T>
void fields(V& visit, T& x) {
  visit("input_tokens", x.input_tokens), visit("cached_tokens", x.cached_tokens);
  visit("output_tokens", x.output_tokens), visit("reasoning_tokens", x.reasoning_tokens);
  visit("cost_nanodollars", x.cost_nanodollars), visit("estimated_input_tokens", x.estimated_input_tokens);
  visit("estimated_output_tokens", x.estimated_output_tokens), visit("retried_tokens", x.retried_tokens);
  visit("raw", x.raw_json);
}

// Without the source, which is a blob.
template <class V, Is<Attempt> T>
void fields(V& visit, T& x) {
  visit("attempt", x.id.value), visit("role", x.role), visit("ordinal", x.ordinal);
  std::optional<std::int64_t> parent;
  if (x.parent) {
    parent = x.parent->value;
  }
  visit("parent", parent);
  if constexpr (!std::is_const_v<T>) {
    x.parent = parent ? std::optional(AttemptId{*parent}) : std::nullopt;
  }
  visit("direction", x.direction), visit("state", x.state), visit("hypothesis", x.hypothesis);
  visit("plan", x.plan_json), visit("source_hash", x.source_hash), visit("kernels", x.kernels);
  visit("tune", x.tune), visit("variants", x.variants), visit("verdict", x.verdict), visit("score", x.score);
  visit("usage", x.usage), visit("duration_ms", x.duration), visit("costs", x.costs);
  visit("settled", x.settled), visit("checked", x.checked);
}

std::string score_json(const Score& score) {
  return encode_value(score).json;
}
OrError<Score> score_from_json(std::string_view json) {
  return decode_value<Score>(json, {});
}

std::string usage_json(const Usage& usage) {
  return encode_value(usage).json;
}
OrError<Usage> usage_from_json(std::string_view json) {
  return decode_value<Usage>(json, {});
}

std::string kernels_json(const std::vector<KernelUse>& kernels) {
  return encode_value(kernels).json;
}
OrError<std::vector<KernelUse>> kernels_from_json(std::string_view json) {
  return decode_value<std::vector<KernelUse>>(json, {});
}

std::string checked_json(const std::vector<CheckedSet>& checked) {
  return encode_value(checked).json;
}

std::string attempt_json(const Attempt& attempt) {
  return encode_value(attempt).json;
}
OrError<Attempt> attempt_from_json(std::string_view json) {
  return decode_value<Attempt>(json, {});
}

}  // namespace kf
