// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cstddef>
#include <cstdint>
#include <vector>

#include <kfactory/spec.h>

namespace kf {

// Of a drawn case: elements of all tensors together, and rows, for which references take a block each.
struct DrawnLimits {
  std::int64_t elements = 0, rows = 0;
};

// Small cases of sizes that nobody wrote, for a kernel that is right on the listed ones alone: check cases (their
// types, options, scalars and pitches) whose var axes are drawn evenly on a logarithmic scale, up to twice the largest
// size that the spec lists, as far as the case keeps to the limits. Over sixteen draws an axis leaves every remainder
// modulo sixteen once, so every tail of a vector; every few draws one axis is 1, or longer than any listed one beside
// short ones. Where the constraints refuse such a size, a multiple of what all listed ones share is tried. At most
// `count`, none where contents are listed.
std::vector<Case> drawn_cases(const Spec& spec, std::uint64_t seed, const DrawnLimits& limits, std::size_t count);

}  // namespace kf
