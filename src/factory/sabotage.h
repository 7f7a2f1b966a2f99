// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <optional>

#include <kfactory/measurement.h>
#include <kfactory/verdict.h>

namespace kf {

// Champion beside candidate must equal champion beside champion: is an arm, timed apart from the candidate too
// ("NAME_apart"), slower or faster beside it than beside itself, by more than twice the margin and at least 1 %? Then
// the candidate changes what its rivals measure, and none of the session's comparisons counts. Pure.
std::optional<Verdict> sabotage_in(const Measurement& measurement, double margin);

}  // namespace kf
