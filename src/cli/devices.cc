// SPDX-License-Identifier: Apache-2.0
#include "devices.h"

#include "cuda/cuda_device.h"
#include "emulator/emulator.h"

namespace kf {
namespace {

OrFault<std::unique_ptr<Device>> open_emulator(const std::string& target, unsigned threads) {
  const std::string name = target.empty() ? "H200" : target;
  const std::optional<DeviceFacts> facts = named_target(name);
  if (!facts) {
    return std::unexpected(DeviceFault{DeviceFault::Kind::kUnsupported, "there is no target called " + name});
  }
  EmulatorOptions options;
  options.threads = threads;
  return open_emulator_device(*facts, options);
}

}  // namespace

DeviceOpener device_opener(const std::string& kind, int gpu, const std::string& target, unsigned threads) {
  if (kind == "emulator") {
    return [target, threads](const WaitObserver&) { return open_emulator(target, threads); };
  }
  return [gpu](const WaitObserver& waits) {
    CudaOptions options;
    options.ordinal = gpu;
    options.waits = waits;
    return open_cuda_device(options);
  };
}

std::vector<DeviceFinding> look_for_devices(const ToolkitQuery& toolkit) {
  const CudaReport report = cuda_report(toolkit);
  std::vector<DeviceFinding> findings;
  findings.push_back(
      {"driver", report.driver, "without a GPU candidates run on the emulator (--device emulator)", report.usable});
  for (const DeviceFacts& device : report.devices) {
    findings.push_back({"GPU",
                        device.name + ", " + device.arch + ", " + std::to_string(device.sm_count) + " SMs, " +
                            std::to_string(device.memory_bytes >> 30) + " GiB",
                        "", true});
  }
  for (const std::string& line : report.telemetry) {
    findings.push_back({"telemetry", line, "", true});
  }
  if (report.usable) {
    findings.push_back({"NVML", report.nvml, "", true});
    const auto sanitizer = find_compute_sanitizer(toolkit);
    findings.push_back({"sanitizer", sanitizer ? sanitizer->path : to_string(sanitizer.error()),
                        "confirmations go without compute-sanitizer's word", sanitizer.has_value()});
    findings.push_back({"counters", report.counters_refused.empty() ? "may be read" : report.counters_refused,
                        "root, or the driver's NVreg_RestrictProfilingToAdminUsers=0; timing works without them",
                        report.counters_refused.empty()});
  }
  return findings;
}

}  // namespace kf
