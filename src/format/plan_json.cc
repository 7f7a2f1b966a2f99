// SPDX-License-Identifier: Apache-2.0
#include "format/plan_json.h"

namespace kf::plan_json {
namespace {

constexpr std::array<JsonKey, 8> kPlanKeys{{{"plan", true},
                                            {"hypothesis"},
                                            {"define"},
                                            {"tune"},
                                            {"select"},
                                            {"workspaces"},
                                            {"tensor_maps"},
                                            {"kernels", true}}};
constexpr std::array<JsonKey, 2> kSelectKeys{{{"when"}, {"set", true}}};
constexpr std::array<JsonKey, 2> kWorkspaceKeys{{{"bytes", true}, {"init", false, kInits}}};
constexpr std::array<JsonKey, 11> kTensorMapKeys{{{"tensor", true},
                                                  {"dtype"},
                                                  {"offset"},
                                                  {"dims", true},
                                                  {"strides_bytes"},
                                                  {"box", true},
                                                  {"element_strides"},
                                                  {"interleave", false, kInterleaves},
                                                  {"swizzle", false, kSwizzles},
                                                  {"l2_promotion", false, kL2Promotions},
                                                  {"oob", false, kOutOfBounds}}};
constexpr std::array<JsonKey, 11> kKernelKeys{{{"id"},
                                               {"name", true},
                                               {"when"},
                                               {"repeat"},
                                               {"grid", true},
                                               {"block", true},
                                               {"cluster"},
                                               {"shared"},
                                               {"args", true},
                                               {"after"},
                                               {"launch"}}};
constexpr std::array<JsonKey, 4> kLaunchKeys{
    {{"cooperative"}, {"pdl"}, {"cluster_policy", false, kClusterPolicies}, {"carveout"}}};

}  // namespace

const JsonShape kPlan{"launch plan", kPlanKeys}, kSelect{"select", kSelectKeys},
    kWorkspace{"workspace", kWorkspaceKeys}, kTensorMap{"tensor map", kTensorMapKeys}, kKernel{"kernel", kKernelKeys},
    kLaunch{"launch", kLaunchKeys};

}  // namespace kf::plan_json
