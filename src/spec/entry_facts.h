// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <array>
#include <optional>
#include <string_view>
#include <vector>

namespace kf {

// What the PTX declares of one entry point: its parameters and what it demands of a launch.
struct EntryFacts {
  std::vector<int> parameter_bytes;
  std::optional<std::array<int, 3>> required_block;    // .reqntid
  std::optional<std::array<int, 3>> largest_block;     // .maxntid
  std::optional<std::array<int, 3>> required_cluster;  // .reqnctapercluster
};

// nullopt: no such entry in `ptx`, or text that this small reader does not understand.
std::optional<EntryFacts> entry_facts(std::string_view ptx, std::string_view entry);

}  // namespace kf
