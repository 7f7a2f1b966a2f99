// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <optional>
#include <string>
#include <vector>

#include <kfactory/build.h>
#include "compile/nvrtc_library.h"

namespace kf {

inline constexpr const char* kCandidateName = "candidate.cu";  // what messages call the candidate's file

// What is wrong with a request's architecture, defines or flags; nullopt: nothing. Flags are on an allow-list: many
// of NVRTC's options read or write files.
std::optional<std::string> refuse_options(const BuildRequest& request);

// The call of NVRTC for a request: prelude and source under their own line numbers, options in a fixed order.
NvrtcJob nvrtc_job(const BuildRequest& request, const std::vector<std::string>& include_folders, int nvrtc_major);

}  // namespace kf
