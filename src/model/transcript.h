// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <variant>

#include <kfactory/clock.h>
#include <kfactory/digest.h>
#include <kfactory/error.h>
#include <kfactory/model.h>

#include "os/descriptor.h"

// Recorded calls: JSON lines, docs/formats/transcript.md.

namespace kf {

// Of the words that the model is given: equal exactly when system, prefix and prompt are.
Digest request_digest(const ModelCall& call);

struct TranscriptEntry {
  Role role = Role::kWriter;
  std::uint64_t ordinal = 0;
  std::optional<Digest> request;  // nullopt: an entry written by hand need not have one
  std::variant<Reply, ModelError> outcome;
};

using TranscriptKey = std::pair<Role, std::uint64_t>;

struct Transcript {
  std::string path;
  std::map<TranscriptKey, TranscriptEntry> entries;  // of several with one key, the last in the file
  bool torn = false;                                 // the last line was cut by a crash, and is left out
};

// Errors carry file:line. An empty file is an empty transcript.
OrErrors<Transcript> read_transcript(const std::string& path);
OrErrors<Transcript> parse_transcript(std::string_view text, const std::string& path);
// One line, without its newline. `call` adds the words of the request.
std::string transcript_line(const TranscriptEntry& entry, const ModelCall* call, std::string_view utc);

// Appends entries. Each is on the disk when `append` returns; a torn last line of an earlier crash is taken
// away first. Several writers, threads and processes may share a file. Throws Fatal when the disk is full.
class TranscriptWriter {
 public:
  static OrError<std::shared_ptr<TranscriptWriter>> open(const std::string& path, Clock& clock);
  void append(const TranscriptEntry& entry, const ModelCall& call);

 private:
  TranscriptWriter(std::string path, Descriptor file, Clock& clock);
  const std::string path_;
  Clock& clock_;
  std::mutex mutex_;
  Descriptor file_;
};

// Records what `inner` answers, errors too (but not stops and waits).
std::unique_ptr<Model> recorded(std::unique_ptr<Model> inner, std::shared_ptr<TranscriptWriter> writer);

// Answers from a transcript. `strict`: a reply to another request is an error; otherwise it is a note.
std::unique_ptr<Model> replay_model(Transcript transcript, bool strict);

}  // namespace kf
