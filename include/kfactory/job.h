// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include <kfactory/build.h>
#include <kfactory/case.h>
#include <kfactory/measurement.h>
#include <kfactory/plan.h>
#include <kfactory/spec.h>
#include <kfactory/verdict.h>

namespace kf {

// A set of kernels that computes the operation: candidate, champion, baseline, copy.
struct Arm {
  std::string name;
  std::vector<Build> builds;        // every build that `plans` refer to
  std::vector<ResolvedPlan> plans;  // one for each Job::cases
  std::vector<Case> own_cases;      // one for each Job::cases when its tensors are not the spec's (copy); else empty
};

// The float64 reference of one case, computed `slice_extent` indices of `slice_axis` at a time.
struct ReferencePlan {
  std::string axis;  // empty: one slice, the whole case
  std::int64_t extent = 0;
  Case slice_case;  // tensors: the inputs as they are, the outputs dense float64
  ResolvedPlan plan;
  std::optional<Case> tail_case;  // the last, shorter slice
  std::optional<ResolvedPlan> tail_plan;
};

struct ReferenceArm {
  std::vector<Build> builds;
  std::vector<ReferencePlan> plans;  // one for each Job::cases
};

// The reference once more, compiled otherwise: in float32 (`double` read as `float`; as a pair of float32 sums that
// take terms in turns), or for float32 inputs where the case's are narrower, so that they can be moved by a float32
// ulp.
struct ReferenceVariant {
  enum class Kind : std::uint8_t { kFloat32, kFloat32Pairs, kWideInputs } kind = Kind::kFloat32;
  // kWideInputs: one for each Job::cases, of a large case a window along the axis of its reference's slices (without
  // tensors where there is no such axis); else empty.
  std::vector<Case> cases;
  ReferenceArm arm;         // empty where it could not be built
  std::string unavailable;  // why
};

// One comparison that a check makes: these contents for that case.
struct CheckPoint {
  std::int32_t case_index = 0;
  std::string family;
  std::vector<std::uint64_t> seeds;  // contents, poison, ... : seeds[0] contents, seeds[1] poison
  std::int64_t misalign = 0;         // not 0: bases move, each by multiples of its own alignment
};

struct Job {
  enum class Kind : std::uint8_t {
    kDescribe,
    kAdmit,
    kCheck,
    kTime,
    kProfile,
    kConfirm,
    kSanitize
  } kind = Kind::kCheck;
  std::vector<Case> cases;
  std::vector<Arm> arms;  // kCheck: one. kTime: candidate, champion, baselines, copy
  ReferenceArm reference;
  Build harness;  // kernels/harness, for the device's architecture
  Map<Bound> bounds;
  Nonfinite nonfinite = Nonfinite::kUnspecified;
  bool deterministic = false;
  std::vector<CheckPoint> checks;          // kCheck, kConfirm: in this order, stopping at the first failure
  Map<std::vector<std::string>> families;  // Spec::families: a check's family holds for the inputs that list it;
                                           // the others (and inputs of timed launches) take their first one
  // kAdmit: all kinds. kCheck, kTime: kWideInputs, where a bound leaves out ill-conditioned elements.
  std::vector<ReferenceVariant> variants;
  // kAdmit: cases of timed extents with the families of full-size checks; each half of an input must matter in one.
  std::vector<CheckPoint> influence;
  std::vector<std::string> relations;     // kCheck: Spec::relations, tested on the smallest fitting case
  std::int64_t passes = 1;                // kCheck, kConfirm: all of it so many times, each with seeds of its own
  bool keep_going = false;                // run every check even after a failure
  std::vector<std::uint64_t> time_seeds;  // kTime: one base seed for each case
  CacheState state = CacheState::kCold;
  ClockMethod method = ClockMethod::kEvents;
  double target_half_width = 0.005;  // of the log ratio; stop when reached
  std::int32_t min_quads = 8, max_quads = 48;
  // kTime: quads that are run once more with the control in the candidate's place ("champion_apart"): the original must
  // be as fast beside the candidate as beside itself. 0: not tested.
  std::int32_t control_quads = 0;
  std::vector<std::string> counters;             // kProfile: metrics of arms[0], by the field's names
  std::chrono::milliseconds tool_limit{60'000};  // kSanitize: of each tool
  std::chrono::milliseconds deadline{60'000};
  std::chrono::milliseconds launch_deadline{2'000};
};

// Who is to blame. Rig faults are retried elsewhere and never enter a verdict.
struct Fault {
  enum class Kind : std::uint8_t { kCandidate, kRig } kind = Kind::kRig;
  std::string reason;  // "timeout", "crash", "illegal_access", "garbage", "vanished", ...
  std::string what;
};

struct CheckReport {
  Verdict verdict;            // the first failure, or passed
  std::int64_t passes = 0;    // of Job::passes: those that were passed
  std::vector<Verdict> all;   // with Job::keep_going: one for each check
  std::vector<Cost> costs{};  // of the job's process, by kind of work
};

// A row of the admission table: what was tried and whether it was refused as it must be.
struct AdmissionRow {
  std::string name, expected, found;
  bool ok = true;
  // false: it could not be; `found` says why and what to add, and `ok` whether that refuses the spec.
  bool tried = true;
};
// What an integer output holds over all checks of a job. Whether that is a gap depends on what the spec allows, which a
// job does not know.
struct OutputRange {
  std::string output;
  double largest = 0;              // absolute value
  std::vector<std::string> below;  // dims of inputs that every value stays below and at zero or above: indices look so
};
struct AdmissionReport {
  std::vector<AdmissionRow> rows;
  bool admitted = true;
  std::vector<OutputRange> ranges{};
};

// Counting replays launches and slows them: nothing that happens under it is a verdict.
struct Profile {
  std::vector<CaseCounters> cases;  // one for each Job::cases, in order; fewer when `refused`
  std::string refused;              // why there are no (more) counters: in CUPTI's words, or a launch's fault
  std::vector<Cost> costs{};
};

struct TimeReport {
  Verdict verdict;       // of the timed outputs
  std::int32_t arm = 0;  // index into Job::arms that a refusal is about; -1: one of several untrusted arms,
                         // timed alone they tell which
  Measurement measurement;
  std::vector<Cost> costs{};  // of the job's process, by kind of work
};

using Outcome = std::variant<DeviceFacts, CheckReport, TimeReport, AdmissionReport, Profile, SanitizerReport, Fault>;

}  // namespace kf
