// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <string_view>
#include <vector>

namespace kf {

// Files that are part of the binary: "kernels/harness/fill.cuh", "src/agent/prompts/writer.md",
// "src/ledger/schema.sql". Throws Fatal for a name that was not embedded (a fault of the build).
std::string_view embedded_file(std::string_view path);
std::vector<std::string_view> embedded_files();

}  // namespace kf
