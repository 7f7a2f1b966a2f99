// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <string>
#include <vector>

#include <kfactory/device_facts.h>

#include "os/toolkit.h"
#include "rig/worker.h"

namespace kf {

// How a job child opens its device. `kind`: "cuda" or "emulator"; `target`: what the emulator pretends to be.
// `threads`: that carry out an emulated launch; 0: as many as there are processors.
DeviceOpener device_opener(const std::string& kind, int gpu, const std::string& target, unsigned threads);

// For doctor: driver, GPUs, permissions; each with what to do where it is missing.
struct DeviceFinding {
  std::string what, found, advice;
  bool good = false;
};
std::vector<DeviceFinding> look_for_devices(const ToolkitQuery& toolkit);

}  // namespace kf
