// SPDX-License-Identifier: Apache-2.0
#include "tables.h"

#include <fmt/format.h>

#include <algorithm>

#include "factory/score.h"

namespace kf {
namespace {

std::string outcome_of(const Attempt& attempt) {
  switch (attempt.state) {
    case AttemptState::kMeasured:
      return attempt.score && attempt.score->against_baseline == Comparison::kRefused ? "right, its time does not count"
             : attempt.score && attempt.score->confirmed                              ? "right, confirmed"
             : attempt.score && attempt.score->method == ClockMethod::kEstimate       ? "right, estimated"
                                                                                      : "right, measured";
    case AttemptState::kRejected:
      return "refused: " + std::string(to_string(attempt.verdict.gate)) + ": " + attempt.verdict.reason;
    case AttemptState::kBuilt:
      return "built, not executed";
    case AttemptState::kNoReply:
      return "no reply";
    case AttemptState::kOpen:
      break;
  }
  return "open";
}

std::string figure(const Attempt& attempt) {
  if (!attempt.score || attempt.state != AttemptState::kMeasured) {
    return "-";
  }
  return ratio_text(attempt.score->speedup, attempt.score->method == ClockMethod::kEstimate);
}

// Confirmed ones first, then what was screened, each by the cases that all have: their speed-ups are over their own
// cases.
std::pair<int, std::size_t> rank(const Attempt& attempt, std::span<const Ranked> ranked) {
  if (attempt.state != AttemptState::kMeasured || !attempt.score) {
    return {3, 0};
  }
  const auto place = std::ranges::find(ranked, attempt.id, &Ranked::id);
  return {place == ranked.end() ? 2 : attempt.score->confirmed ? 0 : 1, place - ranked.begin()};
}

std::string cases_of(const Attempt& attempt) {
  return attempt.score && attempt.state == AttemptState::kMeasured ? std::to_string(cases_in_speedup(*attempt.score))
                                                                   : "-";
}

bool differ_in_cases(std::span<const Attempt> attempts) {
  std::vector<std::string> counts;
  for (const Attempt& attempt : attempts) {
    counts.push_back(cases_of(attempt));
  }
  std::erase(counts, "-");
  return std::ranges::adjacent_find(counts, std::not_equal_to<>()) != counts.end();
}

LaunchCounts sum_of(const std::vector<LaunchCounts>& counts) {
  LaunchCounts sum;
  for (const LaunchCounts& launch : counts) {
    sum.load_sectors += launch.load_sectors + launch.store_sectors;
    sum.excess_load_sectors += launch.excess_load_sectors + launch.excess_store_sectors;
    sum.shared_wavefronts += launch.shared_wavefronts;
    sum.bank_conflicts += launch.bank_conflicts;
    sum.warp_instructions += launch.warp_instructions;
    for (const auto& [kind, count] : launch.mix) {
      sum.mix[kind] += count;
    }
  }
  return sum;
}

// Where the emulator's figures come from: which part of the target bounds each, and what was counted.
void print_estimates(Console& console, const Score& score) {
  Table parts({"case", "bound by", "est. dram", "est. l2", "est. issue", "est. shared", "est. tensor"});
  Table counted({"case", "sectors", "excess", "wavefronts", "conflicts", "instructions", "most of them"});
  bool any = false;
  for (const CaseScore& of : score.cases) {
    if (!of.estimate) {
      continue;
    }
    any = true;
    const Estimate& e = *of.estimate;
    const std::pair<double, const char*> largest =
        std::max({std::pair(e.dram, "dram"), std::pair(e.l2, "l2"), std::pair(e.issue, "issue"),
                  std::pair(e.shared, "shared"), std::pair(e.tensor, "tensor")});
    parts.add({of.case_id, largest.second, time_text(e.dram), time_text(e.l2), time_text(e.issue), time_text(e.shared),
               time_text(e.tensor)});
    const LaunchCounts sum = sum_of(of.counts);
    const auto most = std::ranges::max_element(sum.mix, {}, [](const auto& entry) { return entry.second; });
    counted.add({of.case_id, std::to_string(sum.load_sectors), std::to_string(sum.excess_load_sectors),
                 std::to_string(sum.shared_wavefronts), std::to_string(sum.bank_conflicts),
                 std::to_string(sum.warp_instructions), most == sum.mix.end() ? "-" : most->first});
  }
  if (any) {
    console.line("what each estimate is made of, and what was counted:", Ink::kDim);
    console.table(parts);
    console.table(counted);
  }
}

std::string plain_or_dash(double value, const char* format) {
  return value > 0 ? fmt::format(fmt::runtime(format), value) : "-";
}

// Times, or what the emulator has instead of them: a column says which.
Table table_of(const Score& score) {
  const bool estimate = score.method == ClockMethod::kEstimate;
  Table table(estimate ? std::vector<std::string>{"case", "est. candidate", "est. baseline", "est. copy", "est. ratio",
                                                  "est. of copy", "est. verdict"}
                       : std::vector<std::string>{"case", "candidate", "baseline", "copy", "ratio", "95 %", "of copy",
                                                  "verdict"});
  for (const CaseScore& of : score.cases) {
    const double share = of.candidate.median > 0 ? of.copy.median / of.candidate.median : 0;
    const bool compared = of.to_baseline.samples > 0;
    std::vector<std::string> row{of.case_id, time_text(of.candidate.median), time_text(of.baseline.median),
                                 time_text(of.copy.median),
                                 plain_or_dash(compared ? of.to_baseline.median : 0, "{:.4f}")};
    if (!estimate) {
      row.push_back(compared ? fmt::format("{:.4f} .. {:.4f}", of.to_baseline.low, of.to_baseline.high) : "-");
    }
    row.push_back(plain_or_dash(share, "{:.3f}"));
    row.push_back(counts_in(score, of) ? std::string(to_string(of.against_baseline)) : "not counted");
    table.add(std::move(row));
  }
  return table;
}

// Notes that several cases share are said once.
void print_case_notes(Console& console, const Score& score) {
  std::vector<std::pair<std::string, std::string>> notes;  // note, cases
  for (const CaseScore& of : score.cases) {
    for (const std::string& note : of.notes) {
      const auto same = std::ranges::find(notes, note, &std::pair<std::string, std::string>::first);
      if (same == notes.end()) {
        notes.emplace_back(note, of.case_id);
      } else {
        same->second += ", " + of.case_id;
      }
    }
  }
  for (const auto& [note, cases] : notes) {
    const bool all = std::ranges::count(cases, ',') > 0 && std::ranges::all_of(score.cases, [&](const CaseScore& of) {
                       return std::ranges::find(of.notes, note) != of.notes.end();
                     });
    console.line("  " + (all ? "all cases" : cases) + ": " + note, Ink::kDim);
  }
}

}  // namespace

void print_leader_board(Console& console, std::span<const Attempt> attempts) {
  std::vector<const Attempt*> order;
  for (const Attempt& attempt : attempts) {
    order.push_back(&attempt);
  }
  const std::vector<Ranked> ranked = ranking(attempts);
  std::ranges::stable_sort(order,
                           [&](const Attempt* a, const Attempt* b) { return rank(*a, ranked) < rank(*b, ranked); });
  Table table({"attempt", "speed-up", "cases", "outcome", "role", "from", "hypothesis"});
  for (const Attempt* attempt : order) {
    table.add({std::to_string(attempt->id.value), figure(*attempt), cases_of(*attempt), outcome_of(*attempt),
               std::string(to_string(attempt->role)), attempt->parent ? std::to_string(attempt->parent->value) : "-",
               cut_line(attempt->hypothesis, 60)});
  }
  console.table(table);
  if (differ_in_cases(attempts)) {
    console.line(
        "speed-ups over different numbers of cases do not compare with each other: confirmed attempts stand "
        "first, then the others, each by the cases that all of them have",
        Ink::kDim);
  }
}

void print_score(Console& console, const Score& score, const DeviceFacts& facts) {
  const bool estimate = score.method == ClockMethod::kEstimate;
  const std::int64_t cases = cases_in_speedup(score);
  console.line(
      fmt::format("{}{}{} against the baseline ({}), geometric mean over {} timed case{}{}",
                  estimate ? "ESTIMATE of the emulator, not a time; " : "", facts.name.empty() ? "" : facts.name + ": ",
                  ratio_text(score.speedup), to_string(score.against_baseline), cases, cases == 1 ? "" : "s",
                  score.confirmed ? ", confirmed" : ""),
      Ink::kStrong);
  console.table(table_of(score));
  console.line("ratio: candidate / baseline, below 1 is faster; of copy: copy / candidate, 1 is as fast as a copy",
               Ink::kDim);
  if (!std::ranges::all_of(score.cases, [&](const CaseScore& of) { return counts_in(score, of); })) {
    console.line("not counted: this row ran, and timed rows are scaled from it; the mean is over those", Ink::kDim);
  }
  print_estimates(console, score);
  for (const CaseScore& of : score.cases) {
    if (of.candidate_records.samples > 0) {
      console.line("  " + of.case_id + ": device time by kernel records (cupti): candidate " +
                       time_text(of.candidate_records.median) + ", baseline " + time_text(of.baseline_records.median) +
                       ", copy " + time_text(of.copy_records.median),
                   Ink::kDim);
    }
  }
  print_case_notes(console, score);
}

std::vector<Verdict> told_once(std::span<const Verdict> steps) {
  std::vector<Verdict> told;
  for (const Verdict& step : steps) {
    if (!told.empty() && step.passed && told.back().passed && told.back().gate == step.gate &&
        told.back().reason == step.reason) {
      const bool same = told.back().of == step.of;
      told.back() = step;
      told.back().of = same ? step.of : Launches::kNone;  // the second word is about all of them
    } else {
      told.push_back(step);
    }
  }
  return told;
}

std::vector<Gate> gates_passed(const Evaluation& evaluation) {
  const auto refused = std::ranges::find(evaluation.steps, false, &Verdict::passed);
  const bool all = refused == evaluation.steps.end();
  const bool judged = evaluation.state != AttemptState::kOpen;  // else a cost may be of a step that was cut short
  std::vector<Gate> passed;
  for (int at = 0; at <= static_cast<int>(Gate::kConfirm); ++at) {
    const auto gate = static_cast<Gate>(at);
    const std::string name(to_string(gate));
    const auto is_of = [&](const Cost& cost) {
      return (gate <= Gate::kPlan && cost.step == name) || cost.step == "check: gate " + name ||
             (all && cost.step == "confirm: gate " + name);  // refusals of a confirmation are all of the gate confirm
    };
    const bool ran = std::ranges::find(evaluation.steps, gate, &Verdict::gate) != evaluation.steps.end() ||
                     (judged && std::ranges::any_of(evaluation.costs, is_of));
    if (ran && (all || gate < refused->gate)) {
      passed.push_back(gate);
    }
  }
  return passed;
}

void print_gates_passed(Console& console, const Evaluation& evaluation) {
  std::string line;
  for (const Gate gate : gates_passed(evaluation)) {
    line += (line.empty() ? "" : ", ") + std::string(to_string(gate));
  }
  std::int64_t compared = 0;
  for (const Verdict& step : evaluation.steps) {
    compared = evaluation.verdict.passed ? std::max(compared, step.checks) : 0;
  }
  if (!line.empty()) {
    console.line(
        "passed  " + line + (compared > 0 ? ": " + std::to_string(compared) + " launches compared in all" : ""),
        Ink::kGood);
  }
}

void print_checked(Console& console, const std::vector<CheckedSet>& checked) {
  if (!checked.empty()) {
    console.line("checked: " + to_string(checked));
  }
}

void print_refusal(Console& console, const Verdict& verdict) {
  const std::string where =
      (verdict.case_id.empty() ? ""
                               : " [" + verdict.case_id + (verdict.family.empty() ? "" : ", " + verdict.family) + "]");
  console.line("refused " + std::string(to_string(verdict.gate)) + ": " + verdict.reason + where, Ink::kBad);
  console.line(verdict.message);
}

void print_kernels(Console& console, std::span<const KernelUse> kernels) {
  for (const KernelUse& use : kernels) {
    console.line(fmt::format("  {}: {} registers, {} bytes of static shared memory, {} + {} bytes spilled", use.entry,
                             use.registers, use.static_shared_bytes, use.spill_store_bytes, use.spill_load_bytes));
  }
}

std::string cost_line(std::span<const Cost> costs) {
  std::vector<Cost> steps;
  constexpr double kWorthTelling = 5;  // milliseconds: what would be shown as 0.00 s
  std::ranges::copy_if(costs, std::back_inserter(steps), [](const Cost& cost) {
    return cost.step.find(": ") == std::string::npos && cost.milliseconds >= kWorthTelling;
  });
  std::ranges::sort(steps, [](const Cost& a, const Cost& b) {
    return std::pair(b.milliseconds, a.step) < std::pair(a.milliseconds, b.step);
  });
  std::string line;
  for (const Cost& cost : steps) {
    char text[32];
    std::snprintf(text, sizeof text, " %.2f s", cost.milliseconds / 1000);
    line += (line.empty() ? "" : ", ") + cost.step + text;
  }
  return line;
}

}  // namespace kf
