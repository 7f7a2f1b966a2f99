// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <span>
#include <vector>

#include <kfactory/attempt.h>

namespace kf {

// Right and measured attempts, fastest first, equal code once, equal speed by id. Not all are timed in the same cases
// (screening takes a few), so what counts is the geometric mean of candidate / baseline over the cases that all of them
// have; without any, the speed-up that each score states. Refused figures (noise, faster than physics) do not count.
std::vector<const Attempt*> ranked(std::span<const Attempt> attempts);

}  // namespace kf
