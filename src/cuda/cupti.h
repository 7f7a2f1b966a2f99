// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <array>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include <kfactory/error.h>
#include "os/toolkit.h"

namespace kf::cuda {

// What CUPTI saw of one operation on the device.
struct Activity {
  enum class Kind : std::uint8_t { kKernel, kMemcpy, kMemset } kind = Kind::kKernel;
  std::string name;  // of a kernel
  std::array<std::int32_t, 3> grid{}, block{};
  std::uint64_t start = 0, end = 0;  // nanoseconds of CUPTI's clock
  std::uint32_t correlation = 0;     // rises with each call of the driver
};

// Records kernels, copies and memsets while it lives. CUPTI has one set of callbacks for a process, so one recorder may
// exist at a time. It makes kernels slower: a process that records decides nothing.
class ActivityRecorder {
 public:
  static OrError<std::unique_ptr<ActivityRecorder>> open(const ToolkitQuery& query);
  ~ActivityRecorder();
  ActivityRecorder(const ActivityRecorder&) = delete;
  ActivityRecorder& operator=(const ActivityRecorder&) = delete;

  // Everything recorded since the last call, in the order of the driver calls. Call it when the device is idle. An
  // error when records were dropped: the rest would be a wrong measurement.
  OrError<std::vector<Activity>> take();

  struct Table;

 private:
  explicit ActivityRecorder(std::unique_ptr<Table> table);
  std::unique_ptr<Table> table_;
};

// "130001" of the library that would be used, and where it lies; for `kfactory doctor`.
struct CuptiFacts {
  std::string path, via;
  std::uint32_t version = 0;
};
OrError<CuptiFacts> cupti_facts(const ToolkitQuery& query);

// May this process read counters? From the driver's parameters and our user id; empty when it may, else the reason.
std::string counters_refused();

}  // namespace kf::cuda
