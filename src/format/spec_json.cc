// SPDX-License-Identifier: Apache-2.0
#include "format/spec_json.h"

namespace kf::spec_json {
namespace {

constexpr std::array<JsonKey, 22> kSpecKeys{{{"kfactory_spec", true},
                                             {"name", true},
                                             {"op_type", true},
                                             {"description"},
                                             {"tags"},
                                             {"types"},
                                             {"axes", true},
                                             {"constraints"},
                                             {"inputs", true},
                                             {"outputs", true},
                                             {"reference", true},
                                             {"tolerance", true},
                                             {"work", true},
                                             {"families"},
                                             {"nonfinite", false, kNonfinite},
                                             {"cases", true},
                                             {"relations"},
                                             {"target"},
                                             {"limits"},
                                             {"objective"},
                                             {"baselines"},
                                             {"$schema"}}};
constexpr std::array<JsonKey, 4> kAxisKeys{{{"type", true, kAxisKinds}, {"value"}, {"expression"}, {"description"}}};
constexpr std::array<JsonKey, 8> kInputKeys{{{"shape", true},
                                             {"strides"},
                                             {"align"},
                                             {"dtype", true},
                                             {"optional"},
                                             {"values", false, kValuesFrom},
                                             {"default"},
                                             {"description"}}};
constexpr std::array<JsonKey, 8> kOutputKeys{{{"shape", true},
                                              {"strides"},
                                              {"align"},
                                              {"dtype", true},
                                              {"optional"},
                                              {"inout"},
                                              {"values", false, kValuesFrom},
                                              {"description"}}};
constexpr std::array<JsonKey, 2> kReferenceKeys{{{"cuda", true}, {"slice"}}};
constexpr std::array<JsonKey, 8> kToleranceKeys{
    {{"ulp"}, {"acc"}, {"cond"}, {"rms"}, {"region"}, {"exact"}, {"ties"}, {"ill_conditioned"}}};
constexpr std::array<JsonKey, 2> kTiesKeys{{{"of", true}, {"along", true}}};
constexpr std::array<JsonKey, 3> kWorkKeys{{{"read_bytes", true}, {"write_bytes", true}, {"flops"}}};
constexpr std::array<JsonKey, 4> kCasesKeys{{{"check", true}, {"time"}, {"emulate"}, {"held_out"}}};
constexpr std::array<JsonKey, 3> kCaseKeys{{{"with"}, {"family"}, {"values"}}};
constexpr std::array<JsonKey, 1> kTargetKeys{{{"arch", true, kArchs}}};
constexpr std::array<JsonKey, 5> kLimitsKeys{
    {{"workspace_bytes"}, {"deterministic"}, {"nvrtc_flags"}, {"allow"}, {"cliff"}}};
constexpr std::array<JsonKey, 4> kObjectiveKeys{
    {{"minimise", false, kMinimise}, {"aggregate", false, kAggregates}, {"state", false, kCacheStates}, {"veto"}}};
constexpr std::array<JsonKey, 3> kBaselineKeys{{{"name", true}, {"cuda"}, {"python"}}};

}  // namespace

const JsonShape kSpec{"spec", kSpecKeys}, kAxis{"axis", kAxisKeys}, kInput{"input", kInputKeys},
    kOutput{"output", kOutputKeys}, kReference{"reference", kReferenceKeys}, kTolerance{"tolerance", kToleranceKeys},
    kTies{"ties", kTiesKeys}, kWork{"work", kWorkKeys}, kCases{"cases", kCasesKeys}, kCase{"case", kCaseKeys},
    kTarget{"target", kTargetKeys}, kLimits{"limits", kLimitsKeys}, kObjective{"objective", kObjectiveKeys},
    kBaseline{"baseline", kBaselineKeys};

std::span<const JsonShape* const> shapes() {
  static constexpr std::array<const JsonShape*, 14> kAll{&kSpec,      &kAxis,      &kInput,    &kOutput, &kReference,
                                                         &kTolerance, &kWork,      &kCases,    &kCase,   &kTarget,
                                                         &kLimits,    &kObjective, &kBaseline, &kTies};
  return kAll;
}

}  // namespace kf::spec_json
