// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <optional>
#include <span>
#include <string>

#include <kfactory/device.h>
#include <kfactory/verdict.h>

namespace kf {

inline constexpr std::string_view kInputChanged = "input_changed";  // a reason, and a kind of finding

Verdict refuse(Gate gate, std::string reason, std::string message);

// What a candidate's launch did to the device.
Verdict verdict_of(Gate gate, const DeviceFault& fault);

// Of an output that is wrong: "unwritten", "inexact" or "mismatch".
std::string reason_of(const Mismatch& output);

// The first output that is wrong; nullopt: none.
std::optional<Verdict> verdict_of(Gate gate, std::span<const Mismatch> outputs);

}  // namespace kf
