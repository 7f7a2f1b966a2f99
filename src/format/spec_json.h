// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <array>
#include <span>
#include <string_view>

#include "format/json_reader.h"

// The shape of a spec's JSON: the one source for the reader (src/spec), for its messages and, by a test, for
// specs/spec.schema.json. docs/formats/spec.md says what each key means.

namespace kf::spec_json {

inline constexpr int kVersion = 1;

inline constexpr std::array<std::string_view, 3> kAxisKinds{"const", "var", "expr"};
inline constexpr std::array<std::string_view, 1> kValuesFrom{"case"};
inline constexpr std::array<std::string_view, 3> kNonfinite{"propagate", "isolate", "unspecified"};
inline constexpr std::array<std::string_view, 4> kCaseSets{"check", "time", "emulate", "held_out"};
inline constexpr std::array<std::string_view, 3> kRelations{"permute", "scale", "concat"};
inline constexpr std::array<std::string_view, 1> kMinimise{"latency"};
inline constexpr std::array<std::string_view, 1> kAggregates{"geomean"};
inline constexpr std::array<std::string_view, 3> kCacheStates{"cold", "steady", "warm"};
inline constexpr std::array<std::string_view, 3> kAllow{"clock", "globaltimer", "gridid"};
inline constexpr std::array<std::string_view, 12> kArchs{"sm_80",  "sm_86",   "sm_87",  "sm_89",   "sm_90",  "sm_90a",
                                                         "sm_100", "sm_100a", "sm_103", "sm_103a", "sm_120", "sm_120a"};
// NVRTC options a spec may add. Those that name files or folders are not among them.
inline constexpr std::array<std::string_view, 11> kNvrtcFlags{
    "--use_fast_math", "--fmad=false",     "--fmad=true",      "--ftz=true",        "--ftz=false",
    "--prec-div=true", "--prec-div=false", "--prec-sqrt=true", "--prec-sqrt=false", "--extra-device-vectorization",
    "--restrict"};

// Shapes of objects. A case's keys are the spec's own names beside kCase's.
extern const JsonShape kSpec, kAxis, kInput, kOutput, kReference, kTolerance, kTies, kWork, kCases, kCase, kTarget,
    kLimits, kObjective, kBaseline;
std::span<const JsonShape* const> shapes();  // all of them

}  // namespace kf::spec_json
