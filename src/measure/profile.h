// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <expected>
#include <functional>

#include <kfactory/device.h>
#include <kfactory/job.h>

namespace kf {

// Hardware counters of job.arms[0] in every case of the job: Job::counters, in the job's cache state, on fresh contents
// for each pass. It decides no speed and refuses nobody. A Fault is the rig's; a launch of the candidate that fails
// while it is counted is in `refused`. `candidate` is told true before its launches and false after them.
std::expected<Profile, Fault> run_profile(Device& device, const Job& job,
                                          const std::function<void(bool candidate)>& candidate);

}  // namespace kf
