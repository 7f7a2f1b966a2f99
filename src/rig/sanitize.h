// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <string>
#include <string_view>
#include <vector>

#include <kfactory/job.h>

#include "os/toolkit.h"
#include "rig/scratch_folder.h"

namespace kf {

struct SanitizerOptions {
  std::vector<std::string> one_job;  // argv that performs one job: {"kfactory", "worker", "--device", "cuda", ...}
  ToolkitQuery toolkit;              // where compute-sanitizer may lie
  std::string scratch;               // folder for each job's scratch folder; empty: TMPDIR or /tmp
};

// The job's checks once under each of compute-sanitizer's tools, each in a child of its own that ends after
// Job::tool_limit. What the tools say is evidence. Never throws for what a tool or the candidate does. Makes `scratch`,
// and leaves the whole job in it: it belongs to whoever outlives this process.
SanitizerReport run_sanitizer(const Job& job, const SanitizerOptions& options, const ScratchFolder& scratch);

// Of a tool's log: the counts of its summary, and its first findings without paths, host frames and control
// characters, bounded. `ran`: there was a summary. Pure.
ToolRun read_tool_log(std::string tool, std::string_view log);

}  // namespace kf
