// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <expected>
#include <functional>

#include <kfactory/clock.h>
#include <kfactory/device.h>
#include <kfactory/job.h>

namespace kf {

// Times every case of the job: the arms interleaved in randomised palindromic quads, fresh contents for each launch,
// outputs of randomly chosen timed launches verified (docs/timing.md). A Fault is always the rig's. `candidate`
// is told true before timed launches and false after them.
std::expected<TimeReport, Fault> run_time(Device& device, const Job& job, const Clock& clock,
                                          const std::function<void(bool candidate)>& candidate);

}  // namespace kf
