// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include <kfactory/digest.h>
#include <kfactory/model.h>
#include <kfactory/values.h>

namespace kf {

// What a record says. docs/formats/ledger.md gives the JSON of each.
enum class Stage : std::uint8_t {
  kOpened,     // the attempt exists; its call is named; nothing was sent yet
  kReplied,    // the model's answer (blob) and usage, or its error
  kCandidate,  // parsed plan and source (blob)
  kBuilt,      // builds (blobs: cubin, ptx) or failure
  kVerdict,    // of a gate or a check job
  kMeasured,   // samples (blob) of a timing job
  kScored,     // score against baseline and champion
  kClosed,     // final state of the attempt
  kLesson,     // one lesson (attempt 0)
  kRun,        // run-wide events: started, stopped, resumed, champion changed, budget spent
};
std::string_view to_string(Stage stage);
std::optional<Stage> stage_from_string(std::string_view name);

struct Record {
  std::int64_t sequence = 0;  // given by the ledger, from 1
  VariantId of;               // attempt 0: the run itself
  Stage stage = Stage::kRun;
  std::string json;  // one object
  std::vector<Digest> blobs;
};

// Append-only; the truth of a run. Thread-safe. Each call that makes a record is one durable transaction: after it
// returns, a crash, kill -9 or power cut keeps the record and its blobs. Throws Fatal when the disk is full or the file
// is damaged (what was recorded before stays readable).
struct Ledger {
  virtual ~Ledger() = default;
  // Creates the attempt's row before the model is asked. Ids count from 1 without gaps.
  virtual AttemptId open_attempt(const ModelCall& call, std::string_view json) = 0;
  virtual void append(const Record& record) = 0;
  // Idempotent. Bytes become durable with the first record that names them: until then they may be lost.
  virtual Digest put(std::span<const std::byte> bytes) = 0;
  virtual std::optional<Bytes> get(const Digest& digest) const = 0;
  virtual std::vector<Record> read(AttemptId first, AttemptId last) const = 0;  // both included, by sequence
  virtual AttemptId last_attempt() const = 0;                                   // value 0: none
};

}  // namespace kf
