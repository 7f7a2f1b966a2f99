// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "block.h"
#include "crew.h"

namespace kf::emulator {

// Carries out the clusters of a launch on all threads of the crew, each cluster on one of them, as long as no cluster
// depends on another; then everything (memory, counters) is as run_grid leaves it. False: some do, or something was
// found, or it is not worth it; then nothing has changed, and run_grid says what the launch does. So verdicts, findings
// and results do not depend on the number of threads.
bool run_side_by_side(Launch& launch, Crew& crew);

}  // namespace kf::emulator
