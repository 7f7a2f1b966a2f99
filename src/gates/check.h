// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "gates/bench.h"
#include "gates/gates.h"

namespace kf {

// One pass of run_check. Throws RigFailure.
CheckReport check_all(Bench& bench, const Job& job, const PhaseObserver& phase, const GateObserver& begins);

}  // namespace kf
