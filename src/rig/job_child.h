// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <kfactory/job.h>

#include "os/child_process.h"
#include "rig/worker.h"

namespace kf {

// One fresh process for one job: it waits for its job on descriptor 3 of its own, answers on descriptor 4 and exits.
// Its stdout and stderr lead to err(), bounded by whoever reads it.
struct JobChild {
  ScratchFolder scratch;  // the child may make it; goes after the process
  ChildProcess process;
  Descriptor to, from;  // non-blocking
};

// Forked, not executed: the supervisor has one thread and has never touched a driver.
OrError<JobChild> start_job_child(const WorkerOptions& options, const DeviceOpener& open_device);

// Appends to the report of a check or of a timing; nothing where the outcome is another one.
void add_costs(Outcome& outcome, const std::vector<Cost>& costs);

// What the child does with its job; separate from the process around it. Never throws.
Outcome perform_job(const Job& job, Device& device, const std::function<void(bool candidate)>& candidate);

}  // namespace kf
