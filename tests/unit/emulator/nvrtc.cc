// SPDX-License-Identifier: Apache-2.0
#include "nvrtc.h"

#include <stdexcept>
#include <utility>

#include "compile/nvrtc_library.h"
#include "os/toolkit.h"

namespace kf::emulator_test {
namespace {

struct Compiler {
  NvrtcLibrary nvrtc;
  std::vector<std::string> options;
};

std::optional<Compiler> open_compiler() {
  const OrError<Found> found = find_nvrtc();
  if (!found) {
    return std::nullopt;
  }
  const OrError<FoundIncludes> includes = find_cuda_includes(*found);
  OrError<NvrtcLibrary> nvrtc = NvrtcLibrary::open(found->path);
  if (!includes || !nvrtc) {
    return std::nullopt;
  }
  Compiler compiler{std::move(*nvrtc),
                    {"--gpu-architecture=sm_90a", "-lineinfo", "--std=c++17", "-default-device", "--fmad=false"}};
  for (const std::string& folder : includes->folders) {
    compiler.options.push_back("-I" + folder);
  }
  return compiler;
}

}  // namespace

std::optional<std::string> compile_to_ptx(const std::string& source) {
  static const std::optional<Compiler> compiler = open_compiler();
  if (!compiler) {
    return std::nullopt;
  }
  NvrtcOutput output = compiler->nvrtc.compile({source, "kernel.cu", {}, compiler->options});
  if (output.result != NVRTC_SUCCESS) {
    throw std::runtime_error(output.log);
  }
  return std::move(output.ptx);
}

}  // namespace kf::emulator_test
