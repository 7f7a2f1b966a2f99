// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <gtest/gtest.h>

#include <memory>
#include <string>

#include "compile/nvrtc_compiler.h"
#include "tests/unit/without_nvrtc.h"

namespace kf {

// The compile process of these tests: a program of its own, beside the test program.
inline std::vector<std::string> test_zygote_command() {
  return {std::string(KF_BINARY_DIR) + "/bin/compile_zygote_host"};
}

inline OrError<std::unique_ptr<NvrtcCompiler>> open_test_compiler(NvrtcSettings settings = {}) {
  settings.zygote_command = test_zygote_command();
  return NvrtcCompiler::open(settings);
}

// Compiles when FACTOR is defined.
inline constexpr const char* kGood =
    "extern \"C\" __global__ void __launch_bounds__(256) scale(float* x, int n) {\n"
    "  int i = blockIdx.x * blockDim.x + threadIdx.x;\n  if (i < n) x[i] *= FACTOR;\n}\n";

inline BuildRequest request(const std::string& source, std::vector<std::string> defines = {}) {
  BuildRequest made;
  made.source = source;
  made.arch = "sm_90a";
  made.defines = std::move(defines);
  return made;
}

// One compiler for all tests of the program. A machine without NVRTC skips them and says so, see without_nvrtc.h.
class WithCompiler : public testing::Test {
 protected:
  static void SetUpTestSuite() {
    if (!shared()) {
      auto opened = open_test_compiler();
      if (opened) {
        shared() = std::move(*opened);
      } else {
        why() = to_string(opened.error());
      }
    }
  }
  void SetUp() override {
    if (!shared()) {
      return without_nvrtc(why());
    }
  }
  static NvrtcCompiler& compiler() { return *shared(); }
  static std::expected<Build, BuildFailure> compile(const std::string& source, const std::string& arch = "sm_90a") {
    BuildRequest request;
    request.source = source;
    request.arch = arch;
    return compiler().compile(request, {});
  }
  // Of a source that must compile.
  static Build built(const std::string& source, const std::string& arch = "sm_90a") {
    auto build = compile(source, arch);
    EXPECT_TRUE(build) << build.error().log;
    return build ? std::move(*build) : Build{};
  }

 private:
  static std::unique_ptr<NvrtcCompiler>& shared() {
    static std::unique_ptr<NvrtcCompiler> compiler;
    return compiler;
  }
  static std::string& why() {
    static std::string reason;
    return reason;
  }
};

}  // namespace kf
