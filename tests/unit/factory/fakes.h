// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <functional>
#include <map>
#include <mutex>
#include <set>
#include <string>
#include <vector>

#include <kfactory/factory.h>

namespace kf {

// A clock that moves when somebody sleeps on it, and a little with each look.
class HandClock final : public Clock {
 public:
  std::chrono::steady_clock::time_point now() const override;
  std::string utc() const override { return "2026-11-30T12:38:35Z"; }
  bool sleep(std::chrono::milliseconds time, std::stop_token stop) override;
  void advance(std::chrono::milliseconds time);

 private:
  mutable std::mutex mutex_;
  std::chrono::milliseconds passed_{0};
};

// Keeps everything in memory, with the rules of the real one: ids without gaps, records in order, blobs that exist.
class MemoryLedger final : public Ledger {
 public:
  AttemptId open_attempt(const ModelCall& call, std::string_view json) override;
  void append(const Record& record) override;
  Digest put(std::span<const std::byte> bytes) override;
  std::optional<Bytes> get(const Digest& digest) const override;
  std::vector<Record> read(AttemptId first, AttemptId last) const override;
  AttemptId last_attempt() const override;

 private:
  void append_locked(Record record);
  mutable std::mutex mutex_;
  std::vector<Record> records_;
  std::map<Digest, Bytes> blobs_;
  std::int64_t attempts_ = 0;
};

// Answers from a function and remembers every call.
class FakeModel final : public Model {
 public:
  using Answer = std::function<std::expected<Reply, ModelError>(const ModelCall& call)>;
  explicit FakeModel(Answer answer) : answer_(std::move(answer)) {}
  std::expected<Reply, ModelError> ask(const ModelCall& call, std::stop_token stop) override;
  std::string description() const override { return "fake"; }
  std::vector<std::string> asked() const;  // "writer 1", in order of arrival

 private:
  Answer answer_;
  mutable std::mutex mutex_;
  std::vector<std::string> asked_;
};
std::expected<Reply, ModelError> reply_with(std::string text);
std::expected<Reply, ModelError> no_reply(ModelError::Kind kind, bool run_can_go_on = true);

// Builds whatever has "__global__ void NAME(" in it; a source with DOES_NOT_COMPILE fails. The source is the PTX.
class FakeCompiler final : public Compiler {
 public:
  std::expected<Build, BuildFailure> compile(const BuildRequest& request, std::stop_token stop) override;
  std::string version() const override { return "fake 1"; }
  int compiled(const std::string& marker) const;  // requests whose source has the marker

 private:
  mutable std::mutex mutex_;
  std::vector<std::string> sources_;
};

// Judges by markers in the sources: WRONG fails its check (WRONG_LARGE only in cases above 100,000 elements),
// WRONG_CONFIRM only at confirmation, HANGS is a candidate fault, LOSES_DEVICE a fault of the rig, NS=1234 is the time
// of each launch (default 1000). NOISE_ONCE: in the first timing the control takes twice as long, NOISE: in every one.
// WRONG_TIMED is refused in a timing job, FAULTS_IN_BATCH too (by name only when it is alone), RUNS_OTHER_GRIDS where
// kernel records are taken, which NO_CUPTI prevents.
// NO_COUNTERS has none, READS_HALF and FOUND_IN_L2 are what counters then say.
class FakeRig final : public Rig {
 public:
  explicit FakeRig(DeviceFacts facts) : facts_(std::move(facts)) {}
  DeviceFacts facts() const override { return facts_; }
  Outcome run(const Job& job, std::stop_token stop) override;
  std::function<void(const Job&)> before;                    // called at the start of each job
  std::function<void(const Job&, TimeReport&)> edit_timing;  // changes what a timing job found
  std::vector<Job> jobs() const;
  std::vector<std::string> kinds() const;  // "check:2" = a check job with two cases

 private:
  DeviceFacts facts_;
  mutable std::mutex mutex_;
  std::vector<Job> jobs_;
  bool misread_ = false;  // kernel records of MISREAD_ONCE were wrong already
  bool noisy_ = false;    // the control of NOISE_ONCE took longer already
};

// y = 2 x over N elements: four check cases from 8 to 1,000,000 elements, three timed ones, one held out.
Spec small_spec();
// A right candidate, with `body` somewhere in its code ("NS=500", "WRONG") and perhaps a tune list.
std::string candidate_source(const std::string& body, const std::string& tune = "");
std::string in_fence(const std::string& source);
DeviceFacts gpu_facts();
// A factory of these parts on a GPU, without models and ledger. They outlive it.
Factory factory_of(const Spec& spec, Compiler& compiler, Rig& rig, Clock& clock);

}  // namespace kf
