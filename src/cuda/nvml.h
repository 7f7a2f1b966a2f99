// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "os/shared_library.h"

namespace kf::cuda {

// Why the clocks are where they are: bits of NVML's reasons mask.
enum ClockReason : std::uint64_t {
  kIdle = 0x1,
  kApplicationClocks = 0x2,
  kPowerCap = 0x4,
  kHardwareSlowdown = 0x8,
  kSyncBoost = 0x10,
  kSoftwareThermal = 0x20,
  kHardwareThermal = 0x40,
  kPowerBrake = 0x80,
  kDisplayClock = 0x100,
};
// "power cap, hardware thermal slowdown"; empty for 0. Unknown bits as hexadecimal.
std::string clock_reasons_text(std::uint64_t reasons);

// One look at a GPU; what NVML does not tell here is nullopt. Context for figures, never a figure: on some devices the
// power sensor sees a quarter of the time.
struct Telemetry {
  std::optional<int> sm_megahertz, memory_megahertz, temperature_celsius;
  std::optional<double> power_watts, power_limit_watts;
  std::optional<std::uint64_t> clock_reasons;
  std::optional<std::vector<std::uint32_t>> compute_processes;  // pids, in NVML's name space
};

// libnvidia-ml.so.1 with its few prototypes declared here: the toolkit does not always bring nvml.h.
class Nvml {
 public:
  ~Nvml();
  Nvml(const Nvml&) = delete;
  Nvml& operator=(const Nvml&) = delete;

  std::string driver_version() const;             // "580.159.04"; empty when unknown
  Telemetry look(const std::string& uuid) const;  // all nullopt when there is no such GPU

  // Symbols that are looked up, for the test.
  static std::vector<std::string> symbols();

 private:
  struct Table;
  explicit Nvml(std::unique_ptr<Table> table);
  friend OrError<std::unique_ptr<Nvml>> open_nvml_library();
  std::unique_ptr<Table> table_;
};

OrError<std::unique_ptr<Nvml>> open_nvml_library();
// Null where there is none.
inline std::unique_ptr<Nvml> open_nvml() {
  auto nvml = open_nvml_library();
  return nvml ? std::move(*nvml) : nullptr;
}

}  // namespace kf::cuda
