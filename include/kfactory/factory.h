// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <stop_token>
#include <string>
#include <vector>

#include <kfactory/agent.h>
#include <kfactory/attempt.h>
#include <kfactory/build.h>
#include <kfactory/clock.h>
#include <kfactory/ledger.h>
#include <kfactory/model.h>
#include <kfactory/rig.h>
#include <kfactory/seed.h>
#include <kfactory/spec.h>

namespace kf {

struct Budget {
  std::int64_t attempts = 16;
  std::chrono::milliseconds wall{0};  // 0: none
  std::int64_t tokens = 0;            // input + output; 0: none
  std::int64_t cost_nanodollars = 0;  // 0: none
};

// What a run has spent of its tokens and money. The loop and its models share it: a model asks before every try of a
// call, so that a retry is not sent once the budget is gone. Thread-safe.
class Spending {
 public:
  void limit(const Budget& budget);  // of tokens and money
  void add(const Usage& usage);
  Usage total() const;
  // Empty while more may be spent, `under_way` (tries of a call that has not ended) counted; else what is spent:
  // "tokens: 1200 of 1000".
  std::string refusal(const Usage& under_way = {}) const;

 private:
  mutable std::mutex mutex_;
  Usage total_;
  std::int64_t most_tokens_ = 0, most_nanodollars_ = 0;
};

struct RunSettings {
  Budget budget;
  SearchSettings search;
  std::int32_t compile_jobs = 2;
  std::int32_t screen_cases = 3;        // timed rows that every right candidate is timed on
  double margin = 0.005;                // of a win
  std::int32_t max_variants = 16;       // tune points tried of one candidate
  std::int32_t confirmed_attempts = 3;  // the best, and others close behind it
  RunSecret secret;
};

// What goes on, for the console and for `run --json`. One value an event; the loop never prints.
struct Event {
  enum class Kind : std::uint8_t {
    kRunStarted,
    kAsked,
    kReplied,
    kBuilt,
    kVerdict,
    kMeasured,
    kChampion,
    kRepairing,
    kLessons,
    kNote,
    kRunStopped,
  } kind = Kind::kNote;
  AttemptId attempt;
  std::string text;
  std::optional<double> speedup;
  bool estimate = false;  // `speedup` is the emulator's, not of times
};
using Observer = std::function<void(const Event&)>;  // called from several threads, one at a time

enum class StopReason : std::uint8_t { kBudget, kInterrupted, kWaiting, kModelFailed, kRigFailed, kNothingToDo };
std::string_view to_string(StopReason reason);

struct RunResult {
  StopReason reason = StopReason::kBudget;
  std::string detail;  // "attempts: 16 of 16"
  std::vector<Attempt> attempts;
  std::optional<AttemptId> champion;  // best right candidate, if any
  bool beat_baseline = false;
  std::vector<Lesson> lessons;
};

// The parts that a run is wired from; all outlive the call. `rig` is null for --device none: then `facts`
// holds a named target and attempts stop at kBuilt.
struct Factory {
  const Spec* spec = nullptr;
  DeviceFacts facts;
  Model* writer = nullptr;  // also the default of the other roles
  Map<Model*> models;       // by role name, where a role has its own
  Compiler* compiler = nullptr;
  Rig* rig = nullptr;
  Rig* emulator = nullptr;  // beside a GPU: executes candidates first, on small cases; null: nobody does
  Ledger* ledger = nullptr;
  Clock* clock = nullptr;
  std::vector<Lesson> lessons;         // from --lessons and the store
  std::string origin;                  // run folder's name, for the lessons
  std::shared_ptr<Spending> spending;  // what the models ask before every try; null: the loop has its own
  Observer observe;
};

// Runs, or goes on from what the ledger holds. Every record is durable before the next step depends on it.
RunResult run_factory(const Factory& factory, const RunSettings& settings, std::stop_token stop);

// One candidate's straight line: audit, compile, plan, check, time, score. Used by run, eval and bench.
struct EvaluationSettings {
  std::vector<std::string> time_cases;   // case ids; empty: all of "time"
  std::int32_t scaled_cases = 0;         // timed cases that an emulator's figures are scaled to; 0: all
  std::vector<std::string> check_cases;  // empty: all of "check"; timed cases are verified while they are timed
  bool time = true, confirm = false, held_out = false;
  bool cliffs = false;  // after timing: close neighbours of timed cases must not be much slower; every confirmation
  std::int32_t max_variants = 16;
  std::int32_t max_quads = 48;  // of a timed case; fewer when its intervals are narrow before
  double margin = 0.005;
  std::optional<Candidate> champion;  // second arm, with its assignment
  Assignment champion_tune;
  std::optional<Assignment> tune;  // this tune point only, no sweep
  std::int64_t passes = 1;         // of all checks, with fresh seeds each
  bool keep_going = false;         // every gate that can still run, even after a refusal
  std::int32_t compile_jobs = 2;
  VariantId variant;  // for seeds
  RunSecret secret;
};
struct Evaluation {
  AttemptState state = AttemptState::kRejected;
  Verdict verdict;
  std::vector<Verdict> steps;  // what each gate said, in order
  Assignment tune;
  std::int32_t variant = 0;  // index of `tune` among tune_points()
  std::int32_t variants = 0;
  std::vector<KernelUse> kernels;
  std::optional<Score> score;
  std::optional<Measurement> measurement;
  std::vector<Build> builds;             // of the variant that counts, timed cases first
  std::vector<std::string> build_cases;  // the first case that uses each of them
  std::vector<std::string> notes;
  std::vector<CheckedSet> checked;     // cases that were compared with the reference, where all were right
  std::optional<std::int64_t> passes;  // of all checks: those that were passed
  std::vector<Cost> costs;             // wall time of each step, in the order in which they first ended
  std::optional<Fault> rig_fault;      // state kOpen: the rig failed; without it: interrupted
};
Evaluation evaluate(const Factory& factory, const Candidate& candidate, const EvaluationSettings& settings,
                    std::stop_token stop);

// Attempts as the ledger's records tell them; what resume, show and bench start from.
std::vector<Attempt> attempts_of(const Ledger& ledger);

}  // namespace kf
