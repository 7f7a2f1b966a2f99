// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <optional>
#include <string>

#include <kfactory/factory.h>

#include "cli/options.h"
#include "cli/settings.h"

namespace kf {

// The whole command that goes on with a run, quoted for a shell: everything that this command line said, with --resume
// and the run's folder. `changed`: settings by key that get other values than they had. Never a secret: "(not shown)"
// stands where an address held one.
std::string continuation(const Options& options, const std::string& folder, const Map<std::string>& changed = {});

// The KFACTORY_* variables that set something: they are not in that command, and it needs them too.
std::string needed_variables(const Settings& settings);

// The budget that ended the run, doubled, as a setting; empty where none did, or where more of it would bring nothing
// (a replay has no more answers than were recorded).
Map<std::string> larger_budget(const Options& options, const Budget& budget, const RunResult& result);

}  // namespace kf
