// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <chrono>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include <kfactory/device.h>
#include "os/toolkit.h"

namespace kf {

struct CudaOptions {
  int ordinal = 0;                                 // among the GPUs that CUDA_VISIBLE_DEVICES leaves
  std::string lock_folder;                         // empty: TMPDIR or /tmp
  std::chrono::milliseconds lock_wait{1'800'000};  // for another process that has the GPU
  std::function<void(bool waits)> waits;           // called when that begins and when it has ended; may be empty
  bool lock = true;
  ToolkitQuery toolkit;  // where CUPTI may lie; used for ClockMethod::kCupti only
};

// Opens the driver and a context on one GPU. The GPU's lock (docs/measurement.md) is taken by the first verb that works
// on it, so that a process may open its device while another one still measures. calibrate() measures bandwidth, under
// the lock; without it dram_bytes_per_second stays 0 and `source` says why.
// kLost: no driver, no such GPU, or it does not answer. Sets CUDA_MODULE_LOADING=EAGER in the environment.
OrFault<std::unique_ptr<Device>> open_cuda_device(const CudaOptions& options = {});

// Every visible GPU from its attributes, without a context (no cluster_slots, no rates from measurement). The error
// says why there is none.
OrError<std::vector<DeviceFacts>> list_cuda_devices();

// What `kfactory doctor` says about this machine; texts are for people.
struct CudaReport {
  std::string driver;  // "580.159.04 (CUDA 13.0)", or why there is none
  std::vector<DeviceFacts> devices;
  std::string nvml, cupti;             // where they are, or why not
  std::string counters_refused;        // empty: this process may read counters
  std::vector<std::string> telemetry;  // one line a device
  bool usable = false;                 // a driver and at least one device
};
CudaReport cuda_report(const ToolkitQuery& query = {});

}  // namespace kf
