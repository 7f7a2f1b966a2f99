// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <vector>

#include <kfactory/job.h>

#include "gates/reference.h"

namespace kf {

// What the reference's integer outputs hold over the job's checks: a kernel that computes them in a narrower type
// passes as long as nothing needs more. Cases of more than `most_bytes` are left out.
std::vector<OutputRange> output_ranges(Bench& bench, const Job& job, Reference& reference, std::int64_t most_bytes);

}  // namespace kf
