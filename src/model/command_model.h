// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <chrono>
#include <memory>
#include <string>
#include <vector>

#include <kfactory/clock.h>
#include <kfactory/model.h>

namespace kf {

// Runs a program of the user for each call: the request as Markdown on its stdin, the answer on its stdout. It sees
// KFACTORY_ROLE, KFACTORY_ORDINAL and KFACTORY_MAX_OUTPUT_TOKENS beside the user's environment. Its whole process
// group is killed at the deadline and on a stop.
std::unique_ptr<Model> command_model(std::vector<std::string> argv, std::chrono::milliseconds deadline, Clock& clock);

}  // namespace kf
