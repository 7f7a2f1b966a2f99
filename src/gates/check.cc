// SPDX-License-Identifier: Apache-2.0
#include "gates/check.h"

#include <algorithm>
#include <numeric>

#include "gates/launch_check.h"
#include "gates/perturbation.h"
#include "gates/relations.h"
#include "gates/verdicts.h"

namespace kf {
namespace {

// Larger cases are launched four more times and read back by nobody.
constexpr std::int64_t kRepeatBytes = 64LL << 20;
constexpr std::int64_t kManyBytes = 16LL << 10;

Gate gate_of(const Job& job, Gate gate) {
  return job.kind == Job::Kind::kConfirm ? Gate::kConfirm : gate;
}

// The checks on which the repeat gate goes on: one a case, of cases small enough; on an emulator, where each launch
// costs seconds, only the smallest case, and where the spec promises determinism the smallest one with enough elements
// for several blocks to add up something in an order of their own.
std::vector<const CheckPoint*> points_to_repeat(const Job& job, const std::string& device_kind) {
  std::vector<const CheckPoint*> points;
  const auto bytes = [&](const CheckPoint* point) {
    return bytes_of(job.cases[static_cast<std::size_t>(point->case_index)]);
  };
  for (const CheckPoint& point : job.checks) {
    const bool first =
        std::ranges::none_of(points, [&](const CheckPoint* p) { return p->case_index == point.case_index; });
    if (first && bytes(&point) <= kRepeatBytes) {
      points.push_back(&point);
    }
  }
  if (device_kind == "emulator" && points.size() > 1) {
    std::ranges::stable_sort(points, {}, bytes);
    const auto many = std::ranges::find_if(points, [&](const CheckPoint* point) { return bytes(point) >= kManyBytes; });
    const CheckPoint* ordered = many == points.end() ? points.back() : *many;
    const CheckPoint* smallest = points.front();
    points = job.deterministic && ordered != smallest ? std::vector{smallest, ordered} : std::vector{smallest};
  }
  return points;
}

// The same contents (A) under other poison, after other contents (B), and in a module loaded anew. Each launch is
// judged against the reference; where the spec promises determinism the A's must also be equal bit for bit. Outputs
// are compared by digests on the host, so that no launch can find an earlier answer on the device.
std::optional<Verdict> repeat(LaunchChecker& checker, const Job& job, const CheckPoint& point) {
  LaunchCheck launch;
  launch.gate = gate_of(job, Gate::kRepeat);
  launch.case_index = point.case_index;
  launch.misalign = point.misalign;
  launch.want_outputs = job.deterministic;
  const std::uint64_t a = derive_seed(seed_at(point, 0), 800), b = derive_seed(seed_at(point, 0), 801);
  std::vector<Digest> expected;
  std::uint64_t use = 0;
  for (const std::uint64_t seed : {a, a, b, a, a}) {
    if (use == 4) {
      checker.reload();
    }
    launch.contents = {point.family, seed, &job.families};
    launch.poison_seed = derive_seed(seed_at(point, 1), 810 + use);
    const LaunchResult result = checker.check(launch);
    if (result.refusal) {
      return result.refusal;
    }
    if (use == 0) {
      expected = result.outputs;
    } else if (seed == a && result.outputs != expected) {
      Verdict verdict =
          refuse(launch.gate, "not_repeatable",
                 "equal inputs gave outputs that differ in their bits (launch " + std::to_string(use + 1) +
                     " of 5), but the spec promises determinism: look for atomics whose order varies, "
                     "races, and reads of memory that was never written");
      verdict.case_id = job.cases[static_cast<std::size_t>(point.case_index)].id.value;
      verdict.family = point.family;
      return verdict;
    }
    ++use;
  }
  return std::nullopt;
}

void validate(const Job& job) {
  const auto wrong = [](const std::string& what) {
    throw RigFailure{{Fault::Kind::kRig, "garbage", "the job " + what}};
  };
  if (job.arms.empty() || job.arms[0].plans.size() != job.cases.size()) {
    wrong("must have an arm with one plan a case");
  }
  for (const CheckPoint& point : job.checks) {
    if (point.case_index < 0 || static_cast<std::size_t>(point.case_index) >= job.cases.size()) {
      wrong("checks case " + std::to_string(point.case_index) + " of " + std::to_string(job.cases.size()));
    }
  }
}

Verdict passed(const Job& job, Gate gate, std::int64_t checks) {
  Verdict verdict;
  verdict.gate = gate_of(job, gate);
  verdict.checks = checks;
  return verdict;
}

// The gates after the checks. False: one of them ended the job.
template <class Begin, class Record>
bool further_gates(Bench& bench, LaunchChecker& checker, const Job& job, const bool& right_so_far, const Begin& begin,
                   const Record& record) {
  const std::string& kind = bench.device().facts().kind;
  begin(Gate::kRepeat);
  for (const CheckPoint* point : points_to_repeat(job, kind)) {
    if (!record(repeat(checker, job, *point), *point, Gate::kRepeat)) {
      return false;
    }
  }
  for (const std::string& relation : job.relations) {
    begin(Gate::kRelations);
    // None fits: admission has refused such a spec, but a job of a part of its cases may lack one.
    const CheckPoint* point = point_for_relation(job, relation);
    if (point != nullptr &&
        !record(check_relation(bench, checker, job, *point, relation, gate_of(job, Gate::kRelations)), *point,
                Gate::kRelations)) {
      return false;
    }
  }
  int number = 0;
  for (const CheckPoint* point : points_to_disturb(job, kind)) {
    begin(Gate::kPerturbation);
    if (!record(check_disturbed(checker, job, *point, number++, kind, gate_of(job, Gate::kPerturbation), right_so_far),
                *point, Gate::kPerturbation)) {
      return false;
    }
  }
  return true;
}

// Other seeds for the next pass; what a job without passes does is its first one.
void draw_again(std::vector<CheckPoint>& checks) {
  for (CheckPoint& point : checks) {
    for (std::uint64_t& seed : point.seeds) {
      seed = derive_seed(seed, 700);
    }
  }
}

void add_pass(CheckReport& report, CheckReport pass) {
  const std::int64_t checks = report.verdict.checks;
  report.verdict = std::move(pass.verdict);
  report.verdict.checks += checks;
  report.passes += report.verdict.passed ? 1 : 0;
  report.all = std::move(pass.all);
}

}  // namespace

CheckReport check_all(Bench& bench, const Job& job, const PhaseObserver& phase, const GateObserver& begins) {
  validate(job);
  LaunchChecker checker(bench, job, job.arms[0], phase);
  CheckReport report;
  report.verdict = passed(job, Gate::kCheck, 0);
  Gate last = Gate::kCheck;
  const auto begin = [&](Gate gate) {
    last = gate;
    if (begins) {
      begins(gate);
    }
  };
  // False: stop here.
  const auto record = [&](std::optional<Verdict> refusal, const CheckPoint& point, Gate gate) {
    Verdict verdict = refusal ? *std::move(refusal) : passed(job, gate, checker.launches());
    verdict.checks = checker.launches();
    verdict.case_id = job.cases[static_cast<std::size_t>(point.case_index)].id.value;
    verdict.family = point.family;
    if (job.keep_going) {
      report.all.push_back(verdict);
    }
    if (!verdict.passed && report.verdict.passed) {
      report.verdict = verdict;
    }
    return bench.alive() && (report.verdict.passed || job.keep_going);
  };
  begin(Gate::kCheck);
  for (const CheckPoint& point : job.checks) {
    LaunchCheck launch;
    launch.gate = gate_of(job, Gate::kCheck);
    launch.case_index = point.case_index;
    launch.contents = {point.family, seed_at(point, 0), &job.families};
    launch.poison_seed = seed_at(point, 1);
    launch.misalign = point.misalign;
    if (!record(checker.check(launch).refusal, point, Gate::kCheck)) {
      return report;
    }
  }
  // Under compute-sanitizer checks are all: it makes launches slow, and some impossible beside others.
  if (job.kind != Job::Kind::kSanitize && !further_gates(bench, checker, job, report.verdict.passed, begin, record)) {
    return report;
  }
  if (report.verdict.passed) {
    report.verdict = passed(job, last, checker.launches());
  }
  return report;
}

std::expected<CheckReport, Fault> run_check(Device& device, const Job& job, const PhaseObserver& phase,
                                            const GateObserver& gate) {
  Bench bench(device);
  try {
    CheckReport report = check_all(bench, job, phase, gate);
    report.passes = report.verdict.passed ? 1 : 0;
    for (Job again = job.passes > 1 ? job : Job{}; report.verdict.passed && report.passes < job.passes;) {
      draw_again(again.checks);
      add_pass(report, check_all(bench, again, phase, gate));
    }
    if (!report.verdict.passed && job.passes > 1) {
      report.verdict.message = "pass " + std::to_string(report.passes + 1) + " of " + std::to_string(job.passes) +
                               ": " + report.verdict.message;
    }
    return report;
  } catch (const RigFailure& failure) {
    return std::unexpected(failure.fault);
  }
}

}  // namespace kf
