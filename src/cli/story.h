// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <span>
#include <string>
#include <vector>

#include <kfactory/ledger.h>

namespace kf {

// One record of an attempt as a line for people: "answered   gpt-x, 2 tries, 8.4 s, 5120 + 812 tokens". Empty: nothing
// worth a line. What a record of a later version holds beside the known keys is left out.
std::string told(const Record& record);
// All records of one attempt, a line each, in the order in which things were done.
std::vector<std::string> story_of(std::span<const Record> records);

}  // namespace kf
