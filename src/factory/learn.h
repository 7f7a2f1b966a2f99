// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <span>
#include <stop_token>

#include <kfactory/factory.h>

namespace kf {

// What the agents are told of the task at this point.
TaskView task_view(const Factory& factory, std::span<const Attempt> visible);

// Asks the Librarian once for lessons from these attempts, and records them. Already recorded ones are taken as they
// are. A Librarian that fails costs the lessons, not the run; one that has not answered yet sets kWaiting.
void learn(const Factory& factory, const RunSettings& settings, RunResult& result, std::stop_token stop);

}  // namespace kf
