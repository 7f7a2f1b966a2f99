// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <span>
#include <string>

#include <kfactory/agent.h>

namespace kf {

// What attempts look like in prompts. Nothing here names a held-out case or tells more of a failure in one than that it
// happened.

// One row an attempt, at most `bytes`: the best ones and `keep` first, then the newest; what is left out is counted.
std::string history_text(std::span<const Attempt> visible, const AttemptId* keep, std::size_t bytes);

// Times of one attempt by case, worst against its floor first, at most `bytes`; registers, spills and tune values.
std::string performance_text(const TaskView& task, const Attempt& attempt, std::size_t bytes);

// The verdict for a repair: gate, reason, message, damage, case, and the lines of the source that the message names.
std::string failure_text(const TaskView& task, const Attempt& attempt, std::size_t bytes);

// Rows: cases, columns: measured attempts; microseconds. For the Librarian.
std::string times_text(const TaskView& task, std::size_t bytes);

// The fastest right attempt; nullptr when there is none.
const Attempt* leader_of(std::span<const Attempt> visible);

}  // namespace kf
