// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <stop_token>

#include <kfactory/device_facts.h>
#include <kfactory/job.h>

namespace kf {

// Factory side: a handle on one device behind a launcher prefix. Each job runs in a fresh child process,
// which is killed at the job's deadline. Thread-safe; jobs of one rig run one after the other.
struct Rig {
  virtual ~Rig() = default;
  virtual DeviceFacts facts() const = 0;
  // Never throws for what a candidate did. A rig fault has been retried once already.
  virtual Outcome run(const Job& job, std::stop_token stop) = 0;
};

}  // namespace kf
