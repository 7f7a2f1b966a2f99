// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cstdint>
#include <expected>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <kfactory/agent.h>
#include <kfactory/attempt.h>
#include <kfactory/factory.h>
#include <kfactory/ledger.h>

// Records of a run as docs/formats/ledger.md gives them: writing, and what resume needs to read.

namespace kf {

std::string opened_json(const Proposal& proposal, const ModelCall& call);

// What an attempt has in the ledger. One that is closed comes without calls, replies, measurement and verdict: nothing
// goes on from them, and reading ten thousand prompts takes its time.
struct AttemptRecords {
  AttemptId id;
  Proposal proposal;
  std::uint64_t ordinal = 0;
  std::vector<ModelCall> calls;                           // the question, then the re-ask where there was one
  std::vector<std::expected<Reply, ModelError>> replies;  // in the same order
  std::optional<Measurement> measurement;
  std::optional<Verdict> verdict;  // the last one
  std::optional<Attempt> closed;   // the last final state
  std::vector<Record> all;
};
// Throws Fatal when a record cannot be read (a newer version wrote it, or it is damaged).
AttemptRecords read_attempt(const Ledger& ledger, AttemptId id);

// Writes the records of one attempt. A record that an interrupted run has already written, byte for byte, is not
// written again: so a resumed run ends with what an undisturbed one would have written.
class AttemptLog {
 public:
  AttemptLog(Ledger& ledger, AttemptId id, std::vector<Record> already);

  void reask(const Proposal& proposal, const ModelCall& call);
  void replied(const std::expected<Reply, ModelError>& reply);
  void candidate(const Candidate& candidate);
  void unreadable(const Errors& errors);
  void evaluated(const Evaluation& evaluation);  // built, verdict, measured, scored: those that are there
  void closed(const Attempt& attempt);

 private:
  using Blobs = std::vector<std::pair<std::string, std::string>>;  // name, bytes; empty ones are left out
  void append(Stage stage, std::int32_t tune, std::string json_without_blobs, Blobs blobs);
  void built(const Evaluation& evaluation);
  Ledger& ledger_;
  AttemptId id_;
  std::vector<Record> already_;
};

// ---- run-wide records (attempt 0) ---------------------------------------------------------------------------------

struct RunStart {
  RunSecret secret;
  std::vector<Lesson> lessons;  // that the run began with
  SearchSettings search;        // what shapes the search stays as it was at the start
  std::int32_t screen_cases = 0, max_variants = 0;
  double margin = 0;
  std::optional<bool> emulator_first;  // did candidates meet the emulator before the GPU? nullopt: an older run
  DeviceFacts device;                  // its calibrated rates stand for the whole run: prompts and floors rest on them
  std::string utc;
  std::string spec_json;
  Map<std::string> spec_files;  // reference and baselines, by the path that the spec names
};
// nullopt: this ledger has no run yet.
std::optional<RunStart> read_start(const Ledger& ledger);
void write_start(Ledger& ledger, const Factory& factory, const RunSettings& settings);
// {"event": event, "detail": detail}, attempt 0.
void write_event(Ledger& ledger, const std::string& event, const std::string& detail, AttemptId attempt = {});

// What came out when a baseline's tune points were settled: the source with `select` in place of `tune`; empty where no
// point ran everywhere and it stays as it is written. nullopt: this run has not settled it yet.
std::optional<std::string> read_settled_baseline(const Ledger& ledger, const std::string& name);
void write_settled_baseline(Ledger& ledger, const std::string& name, const std::string& source,
                            const std::vector<std::string>& notes);

// The ways to copy that this run found to be the fastest, Launch::id by size class.
std::map<std::int64_t, std::string> read_copy_ways(const Ledger& ledger);
void write_copy_ways(Ledger& ledger, const std::map<std::int64_t, std::string>& found);

// The Librarian's round over attempts 1..through.
struct LessonRound {
  std::int64_t rounds = 0;           // Librarian's calls answered so far
  std::optional<std::string> reply;  // of the round `through`, if it was answered
  bool complete = false;             // ... and its lessons are all written
  std::vector<Lesson> lessons;       // of all complete rounds
};
LessonRound read_lesson_round(const Ledger& ledger, AttemptId through);
void write_lesson_reply(Ledger& ledger, const Reply& reply, std::uint64_t ordinal, AttemptId through);
void write_lessons(Ledger& ledger, const std::vector<Lesson>& lessons, AttemptId through);

// Sums; unknown plus known is the known part, with the estimate of the rest beside it.
Usage operator+(const Usage& a, const Usage& b);
// Input and output tokens, estimated where the server did not say, and those of tries that failed.
std::int64_t tokens_of(const Usage& usage);

}  // namespace kf
