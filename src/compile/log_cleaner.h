// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace kf {

inline constexpr std::size_t kMaxLogBytes = 4096;

struct LogContext {
  std::vector<std::string> include_folders;  // taken off the front of file names
  std::string_view ptx;                      // that ptxas' line numbers refer to; may be empty
  bool failed = true;                        // errors are wanted, else warnings about the candidate's own lines
};

// NVRTC's log as people and models may read it: one line a diagnostic, "candidate.cu:12:3: error: ...", the first
// errors kept, at most kMaxLogBytes. Source lines are not repeated; texts that the candidate chose (#error,
// static_assert, deprecated, pragma message) are left out; no paths, nothing but printable ASCII.
std::string clean_log(std::string_view raw, const LogContext& context);

}  // namespace kf
