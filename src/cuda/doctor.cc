// SPDX-License-Identifier: Apache-2.0
#include "cuda/cuda_device.h"
#include "cuda/cupti.h"
#include "cuda/facts.h"
#include "cuda/nvml.h"

namespace kf {
namespace {

std::string telemetry_line(const DeviceFacts& device, const cuda::Telemetry& seen) {
  std::string line = device.name;
  const auto add = [&](const auto& value, const char* unit) {
    if (value) {
      line += ", " + std::to_string(static_cast<int>(*value)) + unit;
    }
  };
  add(seen.sm_megahertz, " MHz SM");
  add(seen.memory_megahertz, " MHz memory");
  add(seen.temperature_celsius, " C");
  add(seen.power_watts, " W");
  add(seen.power_limit_watts, " W limit");
  if (seen.clock_reasons && *seen.clock_reasons != 0) {
    line += ", clocks held by: " + cuda::clock_reasons_text(*seen.clock_reasons);
  }
  if (seen.compute_processes && !seen.compute_processes->empty()) {
    line += ", " + std::to_string(seen.compute_processes->size()) + " compute processes";
  }
  return line;
}

}  // namespace

OrError<std::vector<DeviceFacts>> list_cuda_devices() {
  const auto driver = cuda::open_driver();
  if (!driver) {
    return std::unexpected(driver.error());
  }
  std::vector<DeviceFacts> devices;
  int count = 0;
  (*driver)->cuDeviceGetCount(&count);
  for (int i = 0; i < count; ++i) {
    CUdevice device = 0;
    if ((*driver)->cuDeviceGet(&device, i) == CUDA_SUCCESS) {
      devices.push_back(cuda::attribute_facts(**driver, device));
    }
  }
  if (devices.empty()) {
    return std::unexpected(Error{"CUDA driver", "sees no GPU", "CUDA_VISIBLE_DEVICES may hide them"});
  }
  return devices;
}

CudaReport cuda_report(const ToolkitQuery& query) {
  CudaReport report;
  auto devices = list_cuda_devices();
  report.driver = devices ? devices->front().driver : to_string(devices.error());
  if (devices) {
    report.devices = *std::move(devices);
  }
  report.usable = !report.devices.empty();
  if (const auto nvml = cuda::open_nvml_library()) {
    report.nvml = "libnvidia-ml.so.1";
    for (const DeviceFacts& device : report.devices) {
      report.telemetry.push_back(telemetry_line(device, (*nvml)->look(device.uuid)));
    }
  } else {
    report.nvml = to_string(nvml.error());
  }
  const auto cupti = cuda::cupti_facts(query);
  report.cupti = cupti ? cupti->path + " (version " + std::to_string(cupti->version) + ", found by " + cupti->via + ")"
                       : to_string(cupti.error());
  report.counters_refused = report.usable ? cuda::counters_refused() : "there is no GPU";
  return report;
}

}  // namespace kf
