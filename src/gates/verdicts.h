// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <optional>
#include <span>
#include <string>

#include <kfactory/device.h>
#include <kfactory/verdict.h>

namespace kf {

Verdict refuse(Gate gate, std::string reason, std::string message);

// What a candidate's launch did to the device.
Verdict verdict_of(Gate gate, const DeviceFault& fault);

// The first output that is wrong; nullopt: none.
std::optional<Verdict> verdict_of(Gate gate, std::span<const Mismatch> outputs);

}  // namespace kf
