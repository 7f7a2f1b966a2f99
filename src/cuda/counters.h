// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include <kfactory/values.h>

#include "cuda/gpu.h"
#include "os/toolkit.h"

namespace kf::cuda {

// Hardware counters of what runs between two points of the device's stream, by CUPTI's range profiler: one user range,
// replayed by the caller as often as the metrics need passes. It changes clocks and serialises kernels: a process that
// counts decides nothing else.
class RangeCounter {
 public:
  // Metrics that the chip does not have are left out. The error quotes CUPTI's own name of what it refused
  // (CUPTI_ERROR_INSUFFICIENT_PRIVILEGES, ...). Has to be called with the context current.
  static OrError<std::unique_ptr<RangeCounter>> open(Gpu& gpu, const ToolkitQuery& query,
                                                     std::span<const std::string> metrics);
  ~RangeCounter();
  RangeCounter(const RangeCounter&) = delete;
  RangeCounter& operator=(const RangeCounter&) = delete;

  // Calls `prepare` (not counted) and `launch` (counted; must have ended on the device when it returns) once a pass.
  OrError<Map<double>> count(const std::function<void()>& prepare, const std::function<void()>& launch);
  int passes() const;

  struct State;

 private:
  explicit RangeCounter(std::unique_ptr<State> state);
  std::unique_ptr<State> state_;
};

}  // namespace kf::cuda
