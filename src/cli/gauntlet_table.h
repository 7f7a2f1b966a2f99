// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <string>

#include <kfactory/factory.h>

#include "cli/console.h"

namespace kf {

// Where a step's launches ran, and which of them it is about: "emulator in front", "GPU, few cases", "GPU, the rest",
// "confirmation, ..."; empty of gates before the launches. `kind`: of the device, as in DeviceFacts.
std::string where_of(const Verdict& step, const std::string& kind);
// One row a gate, then what each refusal said, then the outcome.
void print_gauntlet(Console& console, const std::string& candidate, const Evaluation& evaluation,
                    const DeviceFacts& facts);

}  // namespace kf
