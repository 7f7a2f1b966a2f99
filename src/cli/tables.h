// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <span>
#include <string>

#include <kfactory/factory.h>

#include "cli/console.h"

namespace kf {

// Best first; then what was refused and why.
void print_leader_board(Console& console, std::span<const Attempt> attempts);
// One row a timed case: candidate, baseline, copy, ratios.
void print_score(Console& console, const Score& score, const DeviceFacts& facts);
void print_verdict(Console& console, const Verdict& verdict);
void print_kernels(Console& console, std::span<const KernelUse> kernels);
// "total 1.82 s, compile 0.61 s, check 0.58 s, ...": the evaluation's own steps, longest first. Kinds of work within a
// job's process are in --json.
std::string cost_line(std::span<const Cost> costs);

}  // namespace kf
