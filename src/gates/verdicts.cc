// SPDX-License-Identifier: Apache-2.0
#include "gates/verdicts.h"

#include <algorithm>

#include "gates/damage.h"

namespace kf {

Verdict refuse(Gate gate, std::string reason, std::string message) {
  Verdict verdict;
  verdict.passed = false;
  verdict.gate = gate;
  verdict.reason = std::move(reason);
  verdict.message = std::move(message);
  return verdict;
}

Verdict verdict_of(Gate gate, const DeviceFault& fault) {
  std::string what;
  switch (fault.kind) {
    case DeviceFault::Kind::kIllegalAccess:
      what = "the launch touched memory that is not its own (or misaligned)";
      break;
    case DeviceFault::Kind::kTimeout:
      what = "the launch did not end in time: a loop, a spin or a barrier that is never released";
      break;
    case DeviceFault::Kind::kOutOfMemory:
      what = "the launch ran out of memory";
      break;
    case DeviceFault::Kind::kLaunchRefused:
      what = "the device refused the launch";
      break;
    case DeviceFault::Kind::kUnsupported:
      what = "this device cannot execute the kernel";
      break;
    case DeviceFault::Kind::kChecker:
      what = "the checker found a fault";
      break;
    case DeviceFault::Kind::kLaunchTruth:
      what = "the device did not run what the plan says";
      break;
    case DeviceFault::Kind::kLost:
      what = "the device was lost during the launch";
      break;
  }
  // An emulator stops the write; a GPU shows it by the input's digest, unless it was put back.
  const bool input = fault.kind == DeviceFault::Kind::kChecker && fault.finding && fault.finding->kind == kInputChanged;
  Verdict verdict = refuse(gate, std::string(input ? kInputChanged : to_string(fault.kind)),
                           fault.detail.empty() ? what : what + ": " + fault.detail);
  verdict.finding = fault.finding;
  return verdict;
}

std::string reason_of(const Mismatch& output) {
  return output.unwritten == output.wrong ? "unwritten" : output.inexact ? "inexact" : "mismatch";
}

std::optional<Verdict> verdict_of(Gate gate, std::span<const Mismatch> outputs) {
  const auto wrong = std::ranges::find_if(outputs, [](const Mismatch& output) { return output.wrong > 0; });
  if (wrong == outputs.end()) {
    return std::nullopt;
  }
  Verdict verdict = refuse(gate, reason_of(*wrong), mismatch_message(*wrong));
  verdict.mismatch = *wrong;
  return verdict;
}

}  // namespace kf
