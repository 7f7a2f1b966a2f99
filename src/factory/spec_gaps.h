// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <vector>

#include <kfactory/job.h>
#include <kfactory/spec.h>

namespace kf {

// What the spec's check cases cannot tell from right, as warnings that say what to add. Nothing here refuses a spec: a
// gap may be meant. `ranges`: what its integer outputs hold over all checks, where a device has run them.
std::vector<AdmissionRow> spec_gaps(const Spec& spec, const std::vector<OutputRange>& ranges);

}  // namespace kf
