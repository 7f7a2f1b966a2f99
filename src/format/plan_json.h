// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <array>
#include <string_view>

#include "format/json_reader.h"

// The shape of a launch plan's JSON: the one source for the reader (src/spec) and its messages.
// docs/formats/candidate.md says what each key means.

namespace kf::plan_json {

inline constexpr int kVersion = 1;

// In the order of the enumerations in kfactory/plan.h.
inline constexpr std::array<std::string_view, 3> kInits{"poison", "zero", "zero_restored"};
inline constexpr std::array<std::string_view, 3> kInterleaves{"none", "16B", "32B"};
inline constexpr std::array<std::string_view, 4> kSwizzles{"none", "32B", "64B", "128B"};
inline constexpr std::array<std::string_view, 4> kL2Promotions{"none", "64B", "128B", "256B"};
inline constexpr std::array<std::string_view, 2> kOutOfBounds{"zero", "nan"};
inline constexpr std::array<std::string_view, 3> kClusterPolicies{"default", "spread", "load_balancing"};
inline constexpr std::array<std::string_view, 6> kArgTypes{"i32", "u32", "i64", "u64", "f32", "f64"};

extern const JsonShape kPlan, kSelect, kWorkspace, kTensorMap, kKernel, kLaunch;

}  // namespace kf::plan_json
