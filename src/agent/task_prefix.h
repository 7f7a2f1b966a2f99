// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <string>

#include <kfactory/agent.h>

namespace kf {

// The task as every role is told it: the same bytes in every call of a run, so that servers can cache it. Does not look
// at TaskView::visible, nor at held_out cases.
std::string task_prefix(const TaskView& task);

}  // namespace kf
