// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <string>
#include <string_view>
#include <vector>

#include <kfactory/values.h>

namespace kf {

// src/agent/prompts/<name>.md with each {{name}} replaced. Throws Fatal for a {{name}} without a value and for a value
// without its {{name}}: both are faults of the program.
std::string fill_prompt(std::string_view name, const Map<std::string>& values);
// The names in {{}} of a text, each once, in order.
std::vector<std::string> placeholders(std::string_view text);

// Text of others (models, compilers, kernels) made safe to show: no control characters but newline and tab, no name of
// a held-out case, at most `limit` bytes with a note of what was cut.
std::string safe_text(std::string_view text, std::size_t limit);
// One line of it.
std::string safe_line(std::string_view text, std::size_t limit);
// A fenced block whose fence is longer than any run of backticks inside.
std::string fenced(std::string_view language, std::string_view text);

// Tables of fixed-point numbers: 12.345 -> "12.35".
std::string decimal(double value, int digits);

}  // namespace kf
