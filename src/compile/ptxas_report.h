// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <string_view>
#include <vector>

#include <kfactory/build.h>

namespace kf {

// Reads what `--ptxas-options=-v` prints, in any log that contains it. One KernelUse for each "Compiling entry
// function", in the order of the log. Spills of functions that an entry calls count for the entry; its stack is the
// cumulative one where ptxas gives it. max_threads is not in the report.
std::vector<KernelUse> read_ptxas_report(std::string_view log);

}  // namespace kf
