// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include <kfactory/error.h>

namespace kf {

// What the search for CUDA's libraries and headers may look at. The defaults are those of this process.
struct ToolkitQuery {
  std::string cuda_root;                                                    // --cuda-root; empty: not given
  std::function<std::optional<std::string>(const char* name)> environment;  // empty: getenv
  bool ask_loader = true;                                                   // sonames in the loader's own list
  std::vector<std::string> prefixes{"/usr/local", "/opt/cuda", "/opt/nvidia", "/usr/lib/cuda"};
};

struct Found {
  std::string path;  // of the library
  std::string root;  // toolkit root that it belongs to: <root>/include holds its headers
  std::string via;   // the step that found it: "CUDA_PATH=/opt/cuda", "the loader's list", "/usr/local/cuda-13.0"
};

struct FoundIncludes {
  std::vector<std::string> folders;  // in the order in which they are to be searched
  std::string via;
};

// The first hit of: --cuda-root or KFACTORY_CUDA_ROOT; CUDA_PATH, CUDA_HOME; the loader's list by soname, newest major
// first; the Python wheels of an active environment (VIRTUAL_ENV, CONDA_PREFIX); the usual prefixes, newest first.
// The error lists every step with what was not found there.
OrError<Found> find_nvrtc(const ToolkitQuery& query = {});
OrError<Found> find_cupti(const ToolkitQuery& query = {});
// The program compute-sanitizer; PATH takes the place of the loader's list.
OrError<Found> find_compute_sanitizer(const ToolkitQuery& query = {});
// The toolkit's headers: those beside `nvrtc` when they are there (versions must match), else the first of the search.
// Contains cuda_fp16.h's folder and libcu++'s (<root>/include/cccl in CUDA 13).
OrError<FoundIncludes> find_cuda_includes(const Found& nvrtc, const ToolkitQuery& query = {});

// libnvrtc-builtins beside an NVRTC library. It must be opened before NVRTC compiles: NVRTC asks the loader for it by
// name, which fails when the folder is not in the loader's list. nullopt: none lies there.
std::optional<std::string> builtins_beside(const std::string& nvrtc_path);

}  // namespace kf
