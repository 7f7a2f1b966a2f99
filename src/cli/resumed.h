// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <string>
#include <vector>

#include "cli/settings.h"
#include "factory/records.h"

namespace kf {

// What this command line asks for and a resumed run does not take, and what changes from here on: a sentence each.
// `emulator_first`: whether candidates meet an emulator before the device now.
std::vector<std::string> remarks_on_resuming(const RunStart& start, const RunSettings& wanted, const Settings& given,
                                             bool emulator_first);

// The replies that requests in an exchange folder wait for: "writer-1.reply.md", in order of their names.
std::vector<std::string> missing_replies(const std::string& folder);

}  // namespace kf
