// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <optional>
#include <span>
#include <stop_token>
#include <string>
#include <vector>

#include <kfactory/factory.h>

#include "jobs.h"
#include "records.h"

namespace kf {

// The best attempt that this one may know of, ready to be timed beside it.
struct Champion {
  AttemptId id;
  Candidate candidate;
  Assignment tune;
};

// Everything that one attempt depends on. `visible` and `champion` come from attempts 1 .. k - W alone, so that a
// replay asks and measures the same whatever the order in which the others end.
struct AttemptTask {
  const Factory* factory = nullptr;
  const RunSettings* settings = nullptr;
  JobBuilder* jobs = nullptr;
  AttemptRecords records;  // at least the opened one; more after an interruption
  std::span<const Attempt> visible;
  std::optional<Champion> champion;
};

struct AttemptEnd {
  enum class Why : std::uint8_t {
    kClosed,
    kInterrupted,
    kWaiting,
    kModelFailed,
    kRigFailed,
    kBudget
  } why = Why::kClosed;
  Attempt attempt;  // kClosed: its final state, which the ledger holds
  std::string detail;
};

// Asks, reads, evaluates, records, closes. Anything but kClosed leaves the attempt open for a resume.
AttemptEnd run_attempt(const AttemptTask& task, std::stop_token stop);

// Ordinals of re-asks lie above those of proposals, so that one attempt's re-ask moves no other's key: the re-ask of
// writer 3 is writer 10003.
inline constexpr std::uint64_t kReaskOrdinal = 10'000;

Model& model_for(const Factory& factory, Role role);

}  // namespace kf
