// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <nvrtc.h>

#include <span>
#include <string>
#include <utility>
#include <vector>

#include <kfactory/error.h>
#include <kfactory/values.h>
#include "os/shared_library.h"

namespace kf {

// One call of the compiler, as NVRTC takes it.
struct NvrtcJob {
  std::string source, name;
  std::vector<std::pair<std::string, std::string>> headers;  // in memory: name, text
  std::vector<std::string> options;
};

// ... and what it gives back, unread.
struct NvrtcOutput {
  int result = 0;  // nvrtcResult
  std::string log, ptx;
  Bytes cubin;
};

// NVRTC, opened at run time. The build needs its header only.
class NvrtcLibrary {
 public:
  // Opens libnvrtc-builtins from the same folder first: NVRTC looks for it by name only.
  static OrError<NvrtcLibrary> open(const std::string& path);

  // Never throws for what the source does; this process may still crash or hang in it.
  NvrtcOutput compile(const NvrtcJob& job) const;
  int major() const { return major_; }
  std::string version() const { return "NVRTC " + std::to_string(major_) + "." + std::to_string(minor_); }

 private:
  explicit NvrtcLibrary(SharedLibrary library) : library_(std::move(library)) {}
  OrError<void> resolve();

  std::vector<SharedLibrary> builtins_;
  SharedLibrary library_;
  int major_ = 0, minor_ = 0;
  decltype(&::nvrtcCreateProgram) create_ = nullptr;
  decltype(&::nvrtcDestroyProgram) destroy_ = nullptr;
  decltype(&::nvrtcCompileProgram) compile_ = nullptr;
  decltype(&::nvrtcGetProgramLogSize) log_size_ = nullptr;
  decltype(&::nvrtcGetProgramLog) log_ = nullptr;
  decltype(&::nvrtcGetPTXSize) ptx_size_ = nullptr;
  decltype(&::nvrtcGetPTX) ptx_ = nullptr;
  decltype(&::nvrtcGetCUBINSize) cubin_size_ = nullptr;
  decltype(&::nvrtcGetCUBIN) cubin_ = nullptr;
};

}  // namespace kf
