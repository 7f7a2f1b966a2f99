// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <set>

#include "price.h"
#include "transcript.h"

namespace kf {
namespace {

using Kind = ModelError::Kind;

class ReplayModel : public Model {
 public:
  ReplayModel(Transcript transcript, bool strict) : transcript_(std::move(transcript)), strict_(strict) {}

  std::expected<Reply, ModelError> ask(const ModelCall& call, std::stop_token stop) override {
    if (stop.stop_requested()) {
      return std::unexpected(ModelError{Kind::kCancelled, "stopped before the transcript was read", true, {}});
    }
    const bool more = note_asked(call);
    const auto found = transcript_.entries.find({call.role, call.ordinal});
    if (found == transcript_.entries.end()) {
      return std::unexpected(ModelError{Kind::kNoReply, missing(call), more, {}});
    }
    const TranscriptEntry& entry = found->second;
    const bool other = entry.request && *entry.request != request_digest(call);
    const std::string note =
        file_name() + " answers another request than this " + name(call) + ": " +
        (entry.request ? "it was recorded for " + to_hex(*entry.request).substr(0, 12) + ", this is " : "") +
        to_hex(request_digest(call)).substr(0, 12);
    if (other && strict_) {
      return std::unexpected(ModelError{Kind::kProtocol, note + " (replay is strict)", false, {}});
    }
    if (const auto* const error = std::get_if<ModelError>(&entry.outcome)) {
      return std::unexpected(*error);
    }
    Reply reply = std::get<Reply>(entry.outcome);
    if (reply.usage.estimated_output_tokens == 0) {  // written by hand
      reply.usage.estimated_input_tokens =
          estimated_tokens(call.system.size() + call.prefix.size() + call.prompt.size());
      reply.usage.estimated_output_tokens = estimated_tokens(reply.text.size());
    }
    if (other) {
      reply.notes.push_back(note);
    }
    return reply;
  }

  std::string description() const override { return "replay of " + file_name(); }

 private:
  // Without its folder: these texts go into ledgers, which hold no path of this machine.
  std::string file_name() const { return transcript_.path.substr(transcript_.path.rfind('/') + 1); }
  static std::string name(const ModelCall& call) {
    return std::string(to_string(call.role)) + ' ' + std::to_string(call.ordinal);
  }

  // Whether another proposal could still be answered: some entry has not been asked for.
  bool note_asked(const ModelCall& call) {
    const std::lock_guard lock(mutex_);
    asked_.insert({call.role, call.ordinal});
    return std::ranges::any_of(transcript_.entries, [&](const auto& entry) {
      return entry.first.first != Role::kLibrarian && !asked_.contains(entry.first);
    });
  }

  std::string missing(const ModelCall& call) const {
    std::uint64_t count = 0, last = 0;
    for (const auto& [key, entry] : transcript_.entries) {
      if (key.first == call.role) {
        ++count;
        last = std::max(last, key.second);
      }
    }
    const std::string role(to_string(call.role));
    return file_name() + " has no reply for " + name(call) +
           (count == 0 ? "; it holds none of that role"
                       : "; it holds " + std::to_string(count) + " of that role, the last is " + std::to_string(last));
  }

  const Transcript transcript_;
  const bool strict_;
  std::mutex mutex_;
  std::set<TranscriptKey> asked_;
};

}  // namespace

Digest request_digest(const ModelCall& call) {
  // The lengths keep the three apart.
  const std::string lengths = std::to_string(call.system.size()) + ' ' + std::to_string(call.prefix.size()) + ' ' +
                              std::to_string(call.prompt.size()) + '\n';
  return sha256(lengths + call.system + call.prefix + call.prompt);
}

std::unique_ptr<Model> replay_model(Transcript transcript, bool strict) {
  return std::make_unique<ReplayModel>(std::move(transcript), strict);
}

}  // namespace kf
