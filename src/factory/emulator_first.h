// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <memory>
#include <optional>
#include <semaphore>
#include <stop_token>
#include <string>
#include <vector>

#include <kfactory/factory.h>

#include "costs.h"

namespace kf {

class JobBuilder;

// Beside a GPU every candidate is executed on the emulator first, on small cases: races, missing waits, uninitialised
// reads and accesses out of bounds that a GPU may run right by chance are found there, and what deadlocks or faults
// costs the GPU nothing. Thread-safe; one a run.
class EmulatorFirst {
 public:
  // Of a factory with an emulator, and with the slots of all its compilations; both outlive this.
  EmulatorFirst(const Factory& factory, std::int32_t compile_jobs, std::counting_semaphore<>& compile_slots);
  ~EmulatorFirst();

  // Why the candidate is refused, if it is; a confirmation's refusal is of the gate `confirm`. Instructions outside the
  // emulator's subset, its budgets of steps, time and memory, its target's limits and its own faults refuse nobody:
  // `notes` say what it could not tell.
  std::optional<Verdict> refusal(const Candidate& candidate, const Assignment& tune, const std::vector<Case>& cases,
                                 const EvaluationSettings& settings, std::vector<std::string>& notes,
                                 const std::stop_token& stop);

 private:
  const Factory emulated_;
  const std::unique_ptr<JobBuilder> jobs_;
};

}  // namespace kf
