// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include <kfactory/clock.h>

#include "gates/reference.h"
#include "measure/schedule.h"

namespace kf {

// Wall time during which a device verb of the timing phase was under way.
class BusyTime {
 public:
  explicit BusyTime(const Clock& clock) : clock_(clock) {}
  template <class F>
  auto during(F&& verb) {
    const auto start = clock_.now();
    struct Add {
      BusyTime& self;
      std::chrono::steady_clock::time_point start;
      ~Add() { self.total_ += self.clock_.now() - start; }
    } add{*this, start};
    return verb();
  }
  std::chrono::duration<double> total() const { return total_; }

 private:
  const Clock& clock_;
  std::chrono::steady_clock::duration total_{0};
};

// What all cases of a timing job share.
struct SessionParts {
  Bench& bench;
  const Job& job;
  Reference& reference;
  BusyTime& busy;
  const std::function<void(bool candidate)>& candidate;
  std::function<bool(std::int32_t index)> out_of_time;  // no further quads for this case
};

struct CaseResult {
  CaseTiming timing;
  std::optional<Verdict> refusal;  // nothing more can be measured then
  std::int32_t refused_arm = 0;
};

// Times one case of the job.
class CaseSession {
 public:
  CaseSession(SessionParts& parts, std::int32_t index);
  CaseResult run();

 private:
  // An arm, or an arm loaded a second time as a control ("champion_again").
  struct Runner {
    std::string name;
    const Case* of = nullptr;
    const ResolvedPlan* plan = nullptr;
    std::size_t group = 0;
    bool own_case = false, dropped = false;
    bool trusted = false;  // a baseline or a copy row: the spec's or ours, not a model's
    std::unique_ptr<Modules> modules;
    std::vector<CaseBuffers> workspaces;  // one for each of its two launches of a quad
  };
  // Buffer sets of runners whose tensors are alike.
  struct Group {
    const Case* of = nullptr;
    std::vector<CaseBuffers> sets;
    std::size_t next = 0;
  };
  // One launch of a batch, and what its buffers hold.
  struct Planned {
    std::int32_t arm = 0, quad = 0, place = 0, occurrence = 0;
    std::int32_t record_as = -1;  // the arm that its sample counts for; -1: none
    CaseBuffers* set = nullptr;
    Contents contents;
    bool verify = false;
    std::vector<ContentDigest> inputs;
  };

  void add_runners();
  void allocate_sets();
  std::vector<std::pair<int, int>> decided_pairs() const;
  std::optional<Verdict> first_launches();
  enum class Quad : std::uint8_t {
    kUnrecorded,
    kRecorded,
    kApart,  // the candidate's launches are the control's: what the original takes beside itself
  };
  std::optional<Verdict> quad(std::int32_t number, Quad kind);
  std::optional<Verdict> quads(std::int32_t number);
  void keep_counts(const std::vector<Planned>& planned);
  std::optional<Verdict> batch(std::vector<Planned>& planned);
  void add_apart_arm();
  void prepare(Planned& launch);
  // The index in Job::arms of a runner, which may be an arm's second loading.
  std::int32_t original_of(std::int32_t arm) const;
  bool untrusted_in(const std::vector<Planned>& planned) const;
  std::int32_t suspect_of(const std::vector<Planned>& planned) const;
  std::optional<Verdict> fault_of(const std::vector<Planned>& planned, const DeviceFault& fault);
  void trusted_failed(const std::vector<Planned>& planned, const std::string& reason, const std::string& why);
  struct WrongRival {
    std::int32_t arm = 0;
    std::string why;
  };
  std::optional<Verdict> verify(const Planned& launch, std::vector<WrongRival>& wrong_rivals);
  std::optional<Verdict> verify_all(const std::vector<Planned>& planned);
  bool right_alone(std::int32_t arm);
  bool verifies(std::int32_t arm, std::int32_t quad, std::int32_t occurrence) const;
  std::optional<Verdict> wrong_in(const Planned& launch);
  std::vector<ContentDigest> input_digests(const CaseBuffers& set);
  OrFault<ModuleHandle> module_of(Runner& runner);
  void drop(std::int32_t arm, const std::string& why);
  void note(std::string text);
  Verdict refused(Verdict verdict) const;

  SessionParts& parts_;
  Bench& bench_;
  Device& device_;
  const std::int32_t index_;
  const Case& case_;
  const std::uint64_t seed_;
  std::uint64_t uses_ = 0;  // contents drawn so far
  Case no_tensors_;
  std::vector<Workspace> no_workspaces_;
  std::vector<Runner> runners_;
  std::vector<Group> groups_;
  std::optional<VerificationPlan> verification_;
  CaseTiming timing_;
  std::int32_t refused_arm_ = 0;
  // The sabotage check: the control and the arm that it is a second loading of; -1: there is none.
  std::int32_t control_ = -1, original_ = -1, apart_ = -1;
};

}  // namespace kf
