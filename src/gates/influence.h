// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <vector>

#include "gates/reference.h"

namespace kf {

// Can part of an input be ignored without anybody noticing? On the points that a job names (cases of timed extents,
// families of full-size checks): each half of each input along each of its dims gets other contents. Where that changes
// outputs outside of that half at all, the operation mixes along the dim, and there the change must leave the bound in
// at least one element: else a kernel that reads half of the input passes.
std::vector<AdmissionRow> influence_rows(Bench& bench, const Job& job, Reference& reference);

}  // namespace kf
