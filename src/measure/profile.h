// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <expected>
#include <functional>

#include <kfactory/device.h>
#include <kfactory/job.h>

namespace kf {

// Hardware counters of job.arms[0] in every case of the job: Job::counters, in the job's cache state, on fresh contents
// for each pass. It decides no speed. A Fault is the rig's; what the candidate did is in the profile's verdict (gate
// physics). `candidate` is told true before its launches and false after them.
std::expected<Profile, Fault> run_profile(Device& device, const Job& job,
                                          const std::function<void(bool candidate)>& candidate);

}  // namespace kf
