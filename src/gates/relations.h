// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <optional>
#include <string>

#include "gates/launch_check.h"

namespace kf {

// What is known of the answer without computing it. The candidate gets related inputs; its outputs, related back, must
// be within the bound of the reference of the inputs that were never launched:
//   permute:AXIS  indices along AXIS in a random order
//   concat:AXIS   the two halves along AXIS change places
//   scale:INPUT   INPUT halved (exact in floating point), outputs doubled

// The smallest case that the relation can be tested on; nullptr: none (an inout tensor, listed contents, an axis of
// extent 1, more than 4 MiB).
const CheckPoint* point_for_relation(const Job& job, const std::string& relation);
// Of a relation without such a case: what its check cases lack, and what to add.
std::string why_no_point(const Job& job, const std::string& relation);

std::optional<Verdict> check_relation(Bench& bench, LaunchChecker& checker, const Job& job, const CheckPoint& point,
                                      const std::string& relation, Gate gate);

}  // namespace kf
