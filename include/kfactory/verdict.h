// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include <kfactory/values.h>

namespace kf {

// In the order in which they run. docs/gates.md says what each refuses.
enum class Gate : std::uint8_t {
  kReply,
  kSourceAudit,
  kCompile,
  kBinaryAudit,
  kPlan,
  kCheck,
  kRepeat,
  kRelations,
  kPerturbation,
  kTimedRun,
  kPhysics,
  kCliffs,
  kConfirm,
};
std::string_view to_string(Gate gate);

// How one output differs from its reference: the worst element, and the shape of the damage.
struct Mismatch {
  std::string output;
  std::int64_t elements = 0, wrong = 0;
  std::int64_t unwritten = 0;     // still hold the poison
  std::int64_t class_errors = 0;  // NaN or Inf where the other is not, of those that were written
  std::vector<std::int64_t> worst_index;
  double worst_out = 0, worst_ref = 0, worst_bound = 0;  // |out - ref| and what was allowed
  double worst_ratio = 0;                                // error / bound; +inf for class errors
  std::vector<std::int64_t> first_index, last_index;     // bounding box of the wrong elements
  std::int64_t wrong_rows = 0, rows = 0;                 // row = all dims but the last
  std::int64_t wrong_columns = 0, columns = 0;
  bool by_rms = false;   // every element is within its bound; worst_* are a region's RMS error, RMS of
                         // ref and bound, worst_index its first element, wrong the elements of such regions
  bool inexact = false;  // within its bound, but not the reference, rounded, where the contents make that possible
  std::string shape;     // in words: "every row, columns 4096..8191, all unwritten"
};

// A place in the candidate's source.
struct SourcePlace {
  std::string file;                     // as the compiler knows it; empty without line information
  std::int64_t line = 0, ptx_line = 0;  // 0: not known
  std::string instruction;              // "st.shared.f32"
  std::string role;                     // "here"; of others: what they did, "wrote", "read", "waits"
};

// What a checker of the emulator found.
struct Finding {
  std::string kind;  // "out_of_bounds", "misaligned", "uninitialised", "race", "deadlock", ...: docs/emulator.md
  std::string kernel, what;
  std::vector<SourcePlace> places;  // the first is where it was found
  std::vector<std::int64_t> block, thread;
};

// Which launches of an evaluation a verdict is about. The gates of a job come again for each of these.
enum class Launches : std::uint8_t {
  kNone,           // the gate's name says all there is to say
  kEmulatorFirst,  // on the emulator that goes before a GPU
  kFewCases,       // a few small cases, tried while the rest is built
  kTheRest,        // all other cases
};

// What a candidate did: a value. `reason` is a stable token for programs ("mismatch", "unwritten",
// "red_zone", "input_changed", "workspace_not_restored", "padding_changed", "not_repeatable",
// "illegal_access", "timeout", "out_of_memory", "launch_refused", "unsupported", "checker"...).
struct Verdict {
  bool passed = true;
  Gate gate = Gate::kCheck;  // the one that refused it, or the last one passed
  std::string reason;
  std::string message;  // for people and for the Repairer
  std::optional<Mismatch> mismatch;
  std::string case_id, family;
  std::int64_t checks = 0;         // launches whose outputs were compared
  std::optional<Finding> finding;  // of the emulator; `message` says the same in words
  Launches of = Launches::kNone;   // set by the evaluation; for reports, in no ledger
};

// Wall time of one step, all its occurrences together. Steps of a job's process are named after the job:
// "check: compare". They lie inside the job's own step ("check"), so that steps do not add up to a total.
struct Cost {
  std::string step;
  double milliseconds = 0;
  std::int64_t count = 0;  // occurrences
  bool operator==(const Cost&) const = default;
};

}  // namespace kf
