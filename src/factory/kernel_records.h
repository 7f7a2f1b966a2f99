// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <optional>
#include <stop_token>
#include <string>
#include <vector>

#include <kfactory/factory.h>
#include <kfactory/job.h>

#include "costs.h"

namespace kf {

// The same arms once more in another process, timed by CUPTI's kernel records: which kernels ran, on which grids, and
// how long they took on the device. It decides no speed (recording slows launches down); it decides launch truth.
struct KernelRecords {
  std::optional<Verdict> refusal;   // other kernels or grids than the plan's ran
  std::vector<CaseTiming> timings;  // method kCupti, one a case
  std::string not_taken;            // why there are none: no CUPTI here, a rig fault
};
KernelRecords take_kernel_records(const Factory& factory, Job timed, CostLog& costs, std::stop_token stop);

}  // namespace kf
