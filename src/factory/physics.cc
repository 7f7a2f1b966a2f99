// SPDX-License-Identifier: Apache-2.0
#include "physics.h"

#include <algorithm>
#include <cstdio>

#include <kfactory/peak_flops.h>

#include "score.h"
#include "stop.h"

namespace kf {
namespace {

// Counting and rounding may lose a little; a kernel that reads a part only loses far more.
constexpr double kReadInFull = 0.98;
constexpr double kReadFromMemory = 0.9;
// All of an L2 slice's read sectors, those that come from the other half of the L2 included: at least what was read.
constexpr double kSectorBytes = 32;

std::optional<double> value_of(const Map<double>& counters, std::initializer_list<std::string_view> names) {
  for (const std::string_view name : names) {
    if (const auto found = counters.find(name); found != counters.end()) {
      return found->second;
    }
  }
  return std::nullopt;
}

std::string megabytes(double bytes) {
  char text[40];
  std::snprintf(text, sizeof text, "%.3f MB", bytes / 1e6);
  return text;
}

// The most that a chip does of this case's arithmetic, whichever way it is computed: no spec says which tensors are
// multiplied. An input of one byte may be an operand as it is; of wider ones 16 bits may be enough for the tolerance.
double fastest_rate(const Case& of, const PeakFlops& peak) {
  const bool narrow = std::ranges::any_of(of.tensors, [](const Tensor& tensor) {
    return tensor.role != TensorRole::kOutput && tensor.dtype != Dtype::kBool && size_in_bytes(tensor.dtype) < 2;
  });
  return narrow ? peak.of_the_narrowest : peak.of_16_bits;
}

// The part of a job that concerns these cases, with its first arm alone.
Job profile_of(const Job& timed, std::span<const std::string> cases) {
  Job job = timed;
  job.kind = Job::Kind::kProfile;
  job.counters = evidence_metrics();
  job.cases.clear(), job.time_seeds.clear(), job.reference = {};
  Arm arm = timed.arms.front();
  arm.plans.clear(), arm.own_cases.clear();
  for (std::size_t i = 0; i < timed.cases.size(); ++i) {
    if (cases.empty() || std::ranges::find(cases, timed.cases[i].id.value) != cases.end()) {
      job.cases.push_back(timed.cases[i]);
      arm.plans.push_back(timed.arms.front().plans[i]);
      job.time_seeds.push_back(i < timed.time_seeds.size() ? timed.time_seeds[i] : i);
    }
  }
  job.arms = {std::move(arm)};
  return job;
}

}  // namespace

Floor physics_floor_parts(const Spec& spec, const Case& of, const DeviceFacts& facts) {
  const OrError<Work> work = work_of(spec, of);
  Floor floor;
  if (!work) {
    return floor;
  }
  const auto bytes = work->read_bytes + std::max<std::int64_t>(0, work->write_bytes - facts.l2_bytes);
  if (facts.dram_bytes_per_second > 0) {
    floor.moving = 1e9 * static_cast<double>(bytes) / facts.dram_bytes_per_second;
  }
  if (const std::optional<PeakFlops> peak = peak_flops(facts)) {
    floor.computing = 1e9 * static_cast<double>(work->flops) / fastest_rate(of, *peak);
  }
  return floor;
}

const std::vector<std::string>& evidence_metrics() {
  static const std::vector<std::string> kMetrics{
      "dram__bytes_read.sum",
      "dram__bytes_write.sum",
      "dram__bytes_op_read.sum",  // what newer chips call the two above
      "dram__bytes_op_write.sum",
      "lts__t_sectors_op_read.sum",
      "lts__t_sectors_op_write.sum",
      "lts__t_sectors_srcunit_tex_op_read.sum",
      "lts__t_sector_hit_rate.pct",
      "l1tex__t_sectors_pipe_lsu_mem_global_op_ld.sum",
      "l1tex__t_requests_pipe_lsu_mem_global_op_ld.sum",
      "sm__warps_active.avg.pct_of_peak_sustained_active",
      "smsp__inst_executed.sum",
      "gpu__time_duration.sum",
  };
  return kMetrics;
}

FloorFinding judge_floor(const Work& work, const Floor& floor, const DeviceFacts& facts, CacheState state,
                         const Map<double>& counters) {
  using Kind = FloorFinding::Kind;
  const std::optional<double> memory = value_of(counters, {"dram__bytes_read.sum", "dram__bytes_op_read.sum"});
  const std::optional<double> sectors = value_of(counters, {"lts__t_sectors_op_read.sum"});
  if (floor.computing > floor.moving) {
    return {Kind::kNothing, "the floor comes from its flops, about which these counters say nothing"};
  }
  if (!memory || (!sectors && state != CacheState::kCold)) {
    return {Kind::kNothing, "the counters that would tell are not there"};
  }
  const auto wanted = static_cast<double>(work.read_bytes);
  if (sectors && kSectorBytes * *sectors < kReadInFull * wanted) {
    return {Kind::kReadTooLittle, "the launch read " + megabytes(kSectorBytes * *sectors) +
                                      " from the L2, the operation's inputs are " + megabytes(wanted) +
                                      " (counters of the L2's sectors)"};
  }
  if (*memory + static_cast<double>(facts.l2_bytes) < kReadInFull * wanted) {
    return {Kind::kReadTooLittle, "the launch read " + megabytes(*memory) + " from memory, and the L2 can have held " +
                                      megabytes(static_cast<double>(facts.l2_bytes)) +
                                      " at most; the operation's inputs are " + megabytes(wanted)};
  }
  if (state == CacheState::kCold && *memory < kReadFromMemory * wanted) {
    return {Kind::kFoundInL2, "a cold launch read only " + megabytes(*memory) + " of " + megabytes(wanted) +
                                  " from memory: the rest survived in the L2"};
  }
  return {Kind::kFloorTooHigh, "counters say that it read " + megabytes(*memory) + " from memory for inputs of " +
                                   megabytes(wanted) + ": the floor is too high, not the work too little"};
}

std::vector<std::string> counted_cases(const Job& timed, std::vector<std::string> suspects) {
  constexpr std::size_t kMost = 8;
  const std::size_t step = std::max<std::size_t>(1, (timed.cases.size() + kMost - 1) / kMost);
  for (std::size_t i = 0; i < timed.cases.size(); i += step) {
    const std::string& id = timed.cases[i].id.value;
    if (std::ranges::find(suspects, id) == suspects.end()) {
      suspects.push_back(id);
    }
  }
  return suspects;
}

TakenCounters take_counters(const Factory& factory, const Job& timed, std::span<const std::string> cases,
                            CostLog& costs, std::stop_token stop) {
  TakenCounters taken;
  Outcome outcome = costs.during("counters", [&] { return factory.rig->run(profile_of(timed, cases), stop); });
  throw_if_stopped(stop);
  if (auto* profile = std::get_if<Profile>(&outcome)) {
    costs.add_inside("counters", profile->costs);
    taken.cases = std::move(profile->cases);
    taken.refused = std::move(profile->refused);
  } else if (const auto* fault = std::get_if<Fault>(&outcome)) {
    // Counting slows and serialises launches, and the profiler itself may fail: no verdict rests on a fault alone.
    taken.refused = fault->reason + ": " + fault->what;
  } else {
    taken.refused = "the worker answered with another kind of outcome than the job's";
  }
  return taken;
}

std::optional<Verdict> refuted_by_counters(const Spec& spec, const DeviceFacts& facts, const Measurement& measurement,
                                           const Score& score) {
  for (const CaseScore& of : score.cases) {
    const auto counted = std::ranges::find(measurement.counters, of.case_id, &CaseCounters::case_id);
    const Case* found = case_called(spec, of.case_id);
    if (!of.suspect || counted == measurement.counters.end() || found == nullptr) {
      continue;
    }
    const OrError<Work> work = work_of(spec, *found);
    const FloorFinding finding =
        work ? judge_floor(*work, physics_floor_parts(spec, *found, facts), facts, score.state, counted->values)
             : FloorFinding{};
    if (finding.kind == FloorFinding::Kind::kReadTooLittle) {
      Verdict verdict;
      verdict.passed = false;
      verdict.gate = Gate::kPhysics;
      verdict.reason = "read_too_little";
      verdict.message = "faster than its bytes can move, and " + finding.text +
                        ": every input has to be read in every launch; results of earlier launches cannot be used";
      verdict.case_id = of.case_id;
      verdict.family = found->family;
      return verdict;
    }
  }
  return std::nullopt;
}

}  // namespace kf
