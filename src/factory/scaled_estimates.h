// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <span>
#include <string>
#include <vector>

#include <kfactory/factory.h>
#include <kfactory/job.h>

namespace kf {

// The timed cases that an emulator's figures are scaled to: as many as were chosen to run, all when all were.
std::vector<Case> cases_to_scale_to(const Spec& spec, const EvaluationSettings& settings);

// What the emulator counted in the cases that ran, scaled to `timed`: one timing for each of them whose plan launches
// the same kernels. Memory counts grow with the bytes of the spec's `work`, the others with its flops (with the bytes
// where it states none), the grid is that of the arm's own plan for the timed case. The source is the case of the same
// types and optional tensors with the most bytes. `arms[].plans` belong to `timed`; `notes` says what was not scaled.
// Pure.
std::vector<CaseTiming> scaled_estimates(const Spec& spec, const DeviceFacts& facts, const Measurement& measurement,
                                         const std::vector<Case>& timed, std::span<const Arm> arms,
                                         std::vector<std::string>& notes);

}  // namespace kf
