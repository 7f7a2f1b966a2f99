// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <string>
#include <string_view>

#include <kfactory/plan.h>

namespace kf {

// A plan whose JSON starts in line `first_line` of `file`. Checks everything that needs neither spec nor device.
OrErrors<LaunchPlan> read_plan(std::string_view json, const std::string& file, int first_line);

// "k[s-1]" -> {"k", "s-1"}; "k" -> {"k", ""}. Text that is neither has an empty id.
struct AfterText {
  std::string id, index;
};
AfterText split_after(std::string_view text);

}  // namespace kf
