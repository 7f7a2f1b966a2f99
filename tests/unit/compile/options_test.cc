// SPDX-License-Identifier: Apache-2.0
#include "compile/options.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "compile/nvrtc_compiler.h"

namespace kf {
namespace {

BuildRequest request() {
  BuildRequest made;
  made.arch = "sm_90a";
  made.source = "code";
  return made;
}

bool refuses_flag(const std::string& flag) {
  BuildRequest made = request();
  made.flags = {flag};
  return refuse_options(made).has_value();
}

TEST(Options, RefuseArchitecturesThatAreNone) {
  for (const char* arch : {"sm_90a", "sm_100a", "sm_90", "compute_90a", "sm_103f"}) {
    BuildRequest made = request();
    made.arch = arch;
    EXPECT_FALSE(refuse_options(made)) << arch;
  }
  for (const char* arch : {"", "sm_", "90a", "sm_90a --time=x", "sm_9x", "lto_90"}) {
    BuildRequest made = request();
    made.arch = arch;
    EXPECT_TRUE(refuse_options(made)) << arch;
  }
}

TEST(Options, AllowFlagsThatOnlyChangeCode) {
  for (const char* flag :
       {"--use_fast_math", "--fmad=false", "--maxrregcount=64", "--ptxas-options=-O1", "--ftz=true"}) {
    EXPECT_FALSE(refuses_flag(flag)) << flag;
  }
}

TEST(Options, RefuseFlagsThatTouchFilesOrAnythingUnknown) {
  for (const char* flag : {"-I/etc", "--include-path=/", "--pre-include=/etc/passwd", "-include=/etc/passwd",
                           "--time=/tmp/x", "--pch-dir=/", "-fdevice-time-trace=x", "--maxrregcount=6;4",
                           "--ptxas-options=--input-as-string", "-dlto", "@file", ""}) {
    EXPECT_TRUE(refuses_flag(flag)) << flag;
  }
}

TEST(Options, RefuseDefinesThatAreMoreThanOneName) {
  for (const char* define : {"VEC=8", "FLAG", "MODE=(a + b)"}) {
    BuildRequest made = request();
    made.defines = {define};
    EXPECT_FALSE(refuse_options(made)) << define;
  }
  for (const char* define : {"=1", "1A=2", "A B=1", "A(x)=x", "A=1\n#include <x>", "A=\\"}) {
    BuildRequest made = request();
    made.defines = {define};
    EXPECT_TRUE(refuse_options(made)) << define;
  }
}

TEST(Options, PutTheCandidateUnderItsOwnLineNumbers) {
  BuildRequest made = request();
  made.prelude = "using T = float;";
  const NvrtcJob job = nvrtc_job(made, {"/cuda/include"}, 13);
  EXPECT_EQ(job.source, "#line 1 \"/prelude.h\"\nusing T = float;\n#line 1 \"/candidate.cu\"\ncode");
  EXPECT_NE(std::ranges::find(job.options, "--include-path=/cuda/include"), job.options.end());
  EXPECT_NE(std::ranges::find(job.options, "--gpu-architecture=sm_90a"), job.options.end());
}

TEST(BuildId, DependsOnEveryPartOfARequest) {
  const Digest base = build_id(request(), "NVRTC 13.0");
  EXPECT_EQ(build_id(request(), "NVRTC 13.0"), base);
  EXPECT_NE(build_id(request(), "NVRTC 13.1"), base);
  const auto changed = [&](auto change) {
    BuildRequest made = request();
    change(made);
    return build_id(made, "NVRTC 13.0") != base;
  };
  EXPECT_TRUE(changed([](BuildRequest& r) { r.source += " "; }));
  EXPECT_TRUE(changed([](BuildRequest& r) { r.prelude = "x"; }));
  EXPECT_TRUE(changed([](BuildRequest& r) { r.arch = "sm_100a"; }));
  EXPECT_TRUE(changed([](BuildRequest& r) { r.defines = {"A=1"}; }));
  EXPECT_TRUE(changed([](BuildRequest& r) { r.flags = {"--use_fast_math"}; }));
  EXPECT_TRUE(changed([](BuildRequest& r) { r.headers = {{"h", "x"}}; }));
}

TEST(BuildId, KeepsFieldsApart) {
  BuildRequest one = request(), two = request();
  one.prelude = "ab";
  one.source = "c";
  two.prelude = "a";
  two.source = "bc";
  EXPECT_NE(build_id(one, "v"), build_id(two, "v"));
  one = two = request();
  one.defines = {"flags", "x"};
  two.defines = {};
  two.flags = {"x"};
  EXPECT_NE(build_id(one, "v"), build_id(two, "v"));
}

}  // namespace
}  // namespace kf
