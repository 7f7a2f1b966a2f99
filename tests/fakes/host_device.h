// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cstring>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include <kfactory/device.h>

namespace kf::fakes {

// One launch as a registered C++ function sees it.
struct HostLaunch {
  const Launch* launch = nullptr;
  const Disturbance* disturbance = nullptr;  // of run_disturbed()
  std::vector<void*> pointers;               // one for each Launch::args; null for scalars and absent tensors
  template <class T>
  T* pointer(std::size_t arg) const {
    return static_cast<T*>(pointers.at(arg));
  }
  template <class T>
  T scalar(std::size_t arg) const {
    T value;
    std::memcpy(&value, &launch->args.at(arg).bits, sizeof value);
    return value;
  }
};

// A kernel: does the whole launch. May also return what a GPU would do to it.
using HostKernel = std::function<OrFault<void>(const HostLaunch&)>;

struct HostDeviceOptions {
  DeviceFacts facts;                          // kind "host", a made-up GPU
  std::map<std::string, HostKernel> kernels;  // by entry name
  std::int64_t memory_bytes = 1LL << 30;
  // Called before every verb with its name ("run", "fill", "compare", ...); a fault is what the verb then gives.
  std::function<std::optional<DeviceFault>(std::string_view verb)> inject;
  // What time() reports for the n-th timed launch of this device. Default: 10 us each.
  std::function<double(const Slot& slot, std::int64_t n)> nanoseconds;
  // What count() answers; without it the device has no counters.
  std::function<OrFault<Map<double>>(const CountRequest& request)> count;
  std::function<void()> on_load;  // a module was (re)loaded: kernels that keep state start afresh
  HostDeviceOptions();
};

// Device over host memory and registered functions; contents, digests and comparisons are the harness's own.
std::unique_ptr<Device> make_host_device(HostDeviceOptions options);

}  // namespace kf::fakes
