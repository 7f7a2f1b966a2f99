// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <span>
#include <vector>

#include <kfactory/case.h>
#include <kfactory/plan.h>

namespace kf {

// Which tune point for which shape: the rule that makes the geometric mean over the cases least, among those with one
// point everywhere and those that cut one quantity (an axis, its bytes, an element's size) into at most four ranges. A
// further range must pay for itself. `nanoseconds[point][case]`; infinity: that point does not run there. Empty: no
// point runs everywhere it would have to. The last selection always holds.
std::vector<Selection> select_by_shape(std::span<const Case> cases, std::span<const Assignment> points,
                                       std::span<const std::vector<double>> nanoseconds);

}  // namespace kf
