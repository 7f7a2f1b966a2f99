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
             : attempt.score && attempt.score->confirmed                              ? "confirmed"
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
  const bool estimate = attempt.score->method == ClockMethod::kEstimate;
  return ratio_text(attempt.score->speedup) + (estimate ? " estimate" : "");
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
  return attempt.score && attempt.state == AttemptState::kMeasured ? std::to_string(attempt.score->cases.size()) : "-";
}

// Where the emulator's figures come from.
void print_estimates(Console& console, const Score& score) {
  Table table({"case", "bound", "dram", "l2", "issue", "shared", "tensor", "sectors", "excess", "wavefronts",
               "conflicts", "instructions", "most"});
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
    LaunchCounts sum;
    for (const LaunchCounts& launch : of.counts) {
      sum.load_sectors += launch.load_sectors + launch.store_sectors;
      sum.excess_load_sectors += launch.excess_load_sectors + launch.excess_store_sectors;
      sum.shared_wavefronts += launch.shared_wavefronts;
      sum.bank_conflicts += launch.bank_conflicts;
      sum.warp_instructions += launch.warp_instructions;
      for (const auto& [kind, count] : launch.mix) {
        sum.mix[kind] += count;
      }
    }
    const auto most = std::ranges::max_element(sum.mix, {}, [](const auto& entry) { return entry.second; });
    table.add({of.case_id, largest.second, time_text(e.dram), time_text(e.l2), time_text(e.issue), time_text(e.shared),
               time_text(e.tensor), std::to_string(sum.load_sectors), std::to_string(sum.excess_load_sectors),
               std::to_string(sum.shared_wavefronts), std::to_string(sum.bank_conflicts),
               std::to_string(sum.warp_instructions), most == sum.mix.end() ? "-" : most->first});
  }
  if (any) {
    console.table(table);
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
}

void print_score(Console& console, const Score& score, const DeviceFacts& facts) {
  const bool estimate = score.method == ClockMethod::kEstimate;
  console.line(fmt::format("{}{}{} against the baseline ({})", estimate ? "ESTIMATE of the emulator, not a time; " : "",
                           facts.name.empty() ? "" : facts.name + ": ", ratio_text(score.speedup),
                           to_string(score.against_baseline)),
               Ink::kStrong);
  Table table({"case", "candidate", "baseline", "copy", "candidate/baseline", "95 %", "copy/candidate", "verdict"});
  for (const CaseScore& of : score.cases) {
    const double share = of.copy.median > 0 && of.candidate.median > 0 ? of.copy.median / of.candidate.median : 0;
    table.add(
        {of.case_id, time_text(of.candidate.median), time_text(of.baseline.median), time_text(of.copy.median),
         of.to_baseline.samples > 0 ? fmt::format("{:.4f}", of.to_baseline.median) : "-",
         of.to_baseline.samples > 0 ? fmt::format("{:.4f} .. {:.4f}", of.to_baseline.low, of.to_baseline.high) : "-",
         share > 0 ? fmt::format("{:.3f}", share) : "-", std::string(to_string(of.against_baseline))});
  }
  console.table(table);
  print_estimates(console, score);
  for (const CaseScore& of : score.cases) {
    if (of.candidate_records.samples > 0) {
      console.line("  " + of.case_id + ": device time by kernel records (cupti): candidate " +
                       time_text(of.candidate_records.median) + ", baseline " + time_text(of.baseline_records.median) +
                       ", copy " + time_text(of.copy_records.median),
                   Ink::kDim);
    }
    for (const std::string& note : of.notes) {
      console.line("  " + of.case_id + ": " + note, Ink::kDim);
    }
  }
}

void print_verdict(Console& console, const Verdict& verdict) {
  const std::string where =
      (verdict.case_id.empty() ? ""
                               : " [" + verdict.case_id + (verdict.family.empty() ? "" : ", " + verdict.family) + "]");
  if (verdict.passed) {
    console.line("passed  " + std::string(to_string(verdict.gate)) +
                     (verdict.checks > 0 ? ": " + std::to_string(verdict.checks) + " checks" : ""),
                 Ink::kGood);
    return;
  }
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
  std::ranges::copy_if(costs, std::back_inserter(steps),
                       [](const Cost& cost) { return cost.step.find(": ") == std::string::npos; });
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
