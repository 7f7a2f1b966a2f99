// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <string>
#include <vector>

namespace kf {

// src/agent/prompts/directions.md: what a proposal may set out to do, most promising first.
struct Directions {
  std::vector<std::string> fresh;    // for a candidate from nothing
  std::vector<std::string> improve;  // for a better version of a parent
};
Directions read_directions();

}  // namespace kf
