// SPDX-License-Identifier: Apache-2.0
#include "cuda/nvml.h"

#include <array>

namespace kf::cuda {
namespace {

// NVML's C interface as far as it is used, after its documentation: 0 is success, devices are opaque.
using NvmlDevice = void*;
using NvmlResult = int;
struct ProcessInfo {
  unsigned int pid;
  unsigned long long used_memory;
  unsigned int gpu_instance, compute_instance;
};
constexpr int kClockSm = 1;
constexpr int kClockMemory = 2;
constexpr int kTemperatureGpu = 0;

#define KF_NVML_FUNCTIONS(X)                                                                \
  X(nvmlInit_v2, NvmlResult())                                                              \
  X(nvmlShutdown, NvmlResult())                                                             \
  X(nvmlSystemGetDriverVersion, NvmlResult(char*, unsigned int))                            \
  X(nvmlDeviceGetHandleByUUID, NvmlResult(const char*, NvmlDevice*))                        \
  X(nvmlDeviceGetClockInfo, NvmlResult(NvmlDevice, int, unsigned int*))                     \
  X(nvmlDeviceGetPowerUsage, NvmlResult(NvmlDevice, unsigned int*))                         \
  X(nvmlDeviceGetEnforcedPowerLimit, NvmlResult(NvmlDevice, unsigned int*))                 \
  X(nvmlDeviceGetTemperature, NvmlResult(NvmlDevice, int, unsigned int*))                   \
  X(nvmlDeviceGetCurrentClocksEventReasons, NvmlResult(NvmlDevice, unsigned long long*))    \
  X(nvmlDeviceGetCurrentClocksThrottleReasons, NvmlResult(NvmlDevice, unsigned long long*)) \
  X(nvmlDeviceGetComputeRunningProcesses_v3, NvmlResult(NvmlDevice, unsigned int*, ProcessInfo*))

// Value of a query, or nullopt when the function is missing or refuses.
template <class Value, class F, class... Args>
std::optional<Value> ask(F* function, NvmlDevice device, Args... args) {
  Value value{};
  return function != nullptr && function(device, args..., &value) == 0 ? std::optional(value) : std::nullopt;
}

std::optional<int> as_int(std::optional<unsigned int> value) {
  return value ? std::optional(static_cast<int>(*value)) : std::nullopt;
}
std::optional<double> thousandths(std::optional<unsigned int> value) {
  return value ? std::optional(1e-3 * *value) : std::nullopt;
}

}  // namespace

struct Nvml::Table {
  SharedLibrary library;
#define KF_MEMBER(name, type) std::add_pointer_t<type> name = nullptr;
  KF_NVML_FUNCTIONS(KF_MEMBER)
#undef KF_MEMBER
};

OrError<std::unique_ptr<Nvml>> open_nvml_library() {
  const std::string names[] = {"libnvidia-ml.so.1"};
  auto library = SharedLibrary::open("clocks, power and temperature (NVML)", names);
  if (!library) {
    return std::unexpected(library.error());
  }
  auto table = std::make_unique<Nvml::Table>(Nvml::Table{*library});
#define KF_LOOK_UP(name, type) table->name = library->function<type>(#name);
  KF_NVML_FUNCTIONS(KF_LOOK_UP)
#undef KF_LOOK_UP
  if (table->nvmlInit_v2 == nullptr || table->nvmlDeviceGetHandleByUUID == nullptr) {
    return std::unexpected(
        Error{library->path(), "has no nvmlInit_v2 or nvmlDeviceGetHandleByUUID", "update the driver"});
  }
  if (const NvmlResult result = table->nvmlInit_v2(); result != 0) {
    return std::unexpected(Error{library->path(), "nvmlInit_v2 gave " + std::to_string(result), ""});
  }
  return std::unique_ptr<Nvml>(new Nvml(std::move(table)));
}

Nvml::Nvml(std::unique_ptr<Table> table) : table_(std::move(table)) {}
Nvml::~Nvml() {
  if (table_->nvmlShutdown != nullptr) {
    table_->nvmlShutdown();
  }
}

std::string Nvml::driver_version() const {
  std::array<char, 96> text{};
  auto* get = table_->nvmlSystemGetDriverVersion;
  return get != nullptr && get(text.data(), static_cast<unsigned int>(text.size() - 1)) == 0 ? text.data() : "";
}

Telemetry Nvml::look(const std::string& uuid) const {
  Telemetry seen;
  NvmlDevice device = nullptr;
  if (table_->nvmlDeviceGetHandleByUUID(uuid.c_str(), &device) != 0) {
    return seen;
  }
  seen.sm_megahertz = as_int(ask<unsigned int>(table_->nvmlDeviceGetClockInfo, device, kClockSm));
  seen.memory_megahertz = as_int(ask<unsigned int>(table_->nvmlDeviceGetClockInfo, device, kClockMemory));
  seen.temperature_celsius = as_int(ask<unsigned int>(table_->nvmlDeviceGetTemperature, device, kTemperatureGpu));
  seen.power_watts = thousandths(ask<unsigned int>(table_->nvmlDeviceGetPowerUsage, device));
  seen.power_limit_watts = thousandths(ask<unsigned int>(table_->nvmlDeviceGetEnforcedPowerLimit, device));
  auto* reasons = table_->nvmlDeviceGetCurrentClocksEventReasons != nullptr
                      ? table_->nvmlDeviceGetCurrentClocksEventReasons
                      : table_->nvmlDeviceGetCurrentClocksThrottleReasons;
  seen.clock_reasons = ask<unsigned long long>(reasons, device);
  std::array<ProcessInfo, 64> processes{};
  auto count = static_cast<unsigned int>(processes.size());
  auto* list = table_->nvmlDeviceGetComputeRunningProcesses_v3;
  if (list != nullptr && list(device, &count, processes.data()) == 0) {
    seen.compute_processes.emplace();
    for (unsigned int i = 0; i < count; ++i) {
      seen.compute_processes->push_back(processes[i].pid);
    }
  }
  return seen;
}

std::vector<std::string> Nvml::symbols() {
  return {
#define KF_NAME(name, type) #name,
      KF_NVML_FUNCTIONS(KF_NAME)
#undef KF_NAME
  };
}

std::string clock_reasons_text(std::uint64_t reasons) {
  constexpr std::array<std::pair<std::uint64_t, const char*>, 9> kNames{{
      {kIdle, "idle"},
      {kApplicationClocks, "application clocks"},
      {kPowerCap, "power cap"},
      {kHardwareSlowdown, "hardware slowdown"},
      {kSyncBoost, "sync boost"},
      {kSoftwareThermal, "software thermal slowdown"},
      {kHardwareThermal, "hardware thermal slowdown"},
      {kPowerBrake, "hardware power brake"},
      {kDisplayClock, "display clocks"},
  }};
  std::string text;
  for (const auto& [bit, name] : kNames) {
    if ((reasons & bit) != 0) {
      text += (text.empty() ? "" : ", ") + std::string(name);
      reasons &= ~bit;
    }
  }
  if (reasons != 0) {
    constexpr char kDigits[] = "0123456789abcdef";
    std::string hex;
    for (std::uint64_t rest = reasons; rest != 0; rest >>= 4) {
      hex.insert(hex.begin(), kDigits[rest & 15]);
    }
    text += (text.empty() ? "0x" : ", 0x") + hex;
  }
  return text;
}

}  // namespace kf::cuda
