// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <span>
#include <string>
#include <vector>

#include <kfactory/factory.h>

#include "cli/console.h"

namespace kf {

// Best first; then what was refused and why.
void print_leader_board(Console& console, std::span<const Attempt> attempts);
// One row a timed case: candidate, baseline, copy, ratios.
void print_score(Console& console, const Score& score, const DeviceFacts& facts);
// Gate, reason, place and what was found.
void print_refusal(Console& console, const Verdict& verdict);
// What each gate said, in order, those that passed once each: a gate that passes twice did so for the probe's cases and
// then for all, and the second word holds the first one's checks.
std::vector<Verdict> told_once(std::span<const Verdict> steps);
// Every gate that passed, in their order, before the first refusal: a job says one word about all of its gates, so the
// ones in between are known by what they cost.
std::vector<Gate> gates_passed(const Evaluation& evaluation);
// "passed  source audit, compile, ..., timed run: 100 launches compared in all"; nothing where none passed.
void print_gates_passed(Console& console, const Evaluation& evaluation);
// "checked: 24 check cases, 1 of 2 held-out cases (...)"; nothing where nothing was.
void print_checked(Console& console, const std::vector<CheckedSet>& checked);
void print_kernels(Console& console, std::span<const KernelUse> kernels);
// "total 1.82 s, compile 0.61 s, check 0.58 s, ...": the evaluation's own steps, longest first. Kinds of work within a
// job's process are in --json.
std::string cost_line(std::span<const Cost> costs);

}  // namespace kf
