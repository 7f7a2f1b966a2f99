// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <string>

#include <kfactory/device_facts.h>

#include "rig/worker.h"

namespace kf {

// How a job child opens its device. `kind`: "cuda" or "emulator"; `target`: what the emulator pretends to be.
DeviceOpener device_opener(const std::string& kind, int gpu, const std::string& target);

}  // namespace kf
