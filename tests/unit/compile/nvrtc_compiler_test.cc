// SPDX-License-Identifier: Apache-2.0
#include "compile/nvrtc_compiler.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <atomic>
#include <filesystem>
#include <fstream>
#include <thread>

#include "os/atomic_file.h"
#include "os/sandbox.h"
#include "with_compiler.h"

namespace kf {
namespace {

using namespace std::chrono_literals;

class Nvrtc : public WithCompiler {};

TEST_F(Nvrtc, BuildsCubinPtxAndReportForHopperAndBlackwell) {
  for (const char* arch : {"sm_90a", "sm_100a"}) {
    BuildRequest made = request(kGood, {"FACTOR=3.0f"});
    made.arch = arch;
    const auto build = compiler().compile(made, {});
    ASSERT_TRUE(build) << build.error().log;
    EXPECT_NE(build->ptx.find(std::string(".target ") + arch), std::string::npos);
    EXPECT_NE(build->ptx.find(".visible .entry scale("), std::string::npos);
    EXPECT_GT(build->cubin.size(), 1000U);
    ASSERT_EQ(build->kernels.size(), 1U);
    EXPECT_EQ(build->kernels[0].entry, "scale");
    EXPECT_GT(build->kernels[0].registers, 0);
    EXPECT_EQ(build->kernels[0].max_threads, 256);
    EXPECT_EQ(build->facts.entries, std::vector<std::string>{"scale"});
    EXPECT_EQ(build->toolchain, compiler().version());
    EXPECT_EQ(build->id, build_id(made, compiler().version()));
    EXPECT_EQ(build->log, "");
  }
}

TEST_F(Nvrtc, BuildsOnlyPtxWhenAskedForAVirtualArchitecture) {
  const Build build = built("extern \"C\" __global__ void k() {}", "compute_90a");
  EXPECT_TRUE(build.cubin.empty());
  EXPECT_FALSE(build.ptx.empty());
  EXPECT_EQ(build.facts.unreadable, "");
}

TEST_F(Nvrtc, ReportsSharedMemoryStackAndSpills) {
  const Build build = built(
      "extern \"C\" __global__ void __maxnreg__(24) k(float* x, int n) { __shared__ float s[100]; float v[64]; for "
      "(int i = 0; i < 64; ++i) v[i] = x[i * n];\n"
      "__syncthreads(); for (int i = 0; i < 64; ++i) s[i] = v[63 - i] * v[i]; x[0] = v[n] + s[n]; }");
  ASSERT_EQ(build.kernels.size(), 1U);
  EXPECT_EQ(build.kernels[0].static_shared_bytes, 400);
  EXPECT_GE(build.kernels[0].stack_bytes, 256);
  EXPECT_EQ(build.kernels[0].barriers, 1);
  EXPECT_LE(build.kernels[0].registers, 24);
}

TEST_F(Nvrtc, GivesErrorsWithTheCandidatesOwnLines) {
  BuildRequest made = request("// one\nextern \"C\" __global__ void k(int* x) {\n  x[0] = y;\n}\n");
  made.prelude = "using T = float;\n\n\n\n";
  const auto build = compiler().compile(made, {});
  ASSERT_FALSE(build);
  EXPECT_EQ(build.error().kind, BuildFailure::Kind::kErrors);
  EXPECT_EQ(build.error().log, "candidate.cu:3:10: error: identifier \"y\" is undefined\n");
}

TEST_F(Nvrtc, TracesInlinePtxErrorsToTheCandidatesLines) {
  const auto build = compile(
      "extern \"C\" __global__ void k(int* x) {\n  int r;\n  asm volatile(\"bogus.u32 %0, 1;\" : \"=r\"(r));\n  x[0] = "
      "r;\n}\n");
  ASSERT_FALSE(build);
  EXPECT_EQ(build.error().log, "candidate.cu:3: error: inline PTX: Not a name of any known instruction: 'bogus'\n");
}

TEST_F(Nvrtc, UsesInMemoryHeadersAndPreludes) {
  BuildRequest made = request(
      "#include \"own.cuh\"\n#include <cstdint>\n#include <cuda_runtime.h>\nextern \"C\" __global__ void k(T* x) { "
      "x[0] = twice(x[1]) + (T)(uint32_t)3; }\n");
  made.prelude = "using T = float;";
  made.headers = {{"own.cuh", "__device__ float twice(float v) { return 2 * v; }"}};
  const auto build = compiler().compile(made, {});
  EXPECT_TRUE(build) << build.error().log;
}

TEST_F(Nvrtc, RefusesSourcesThatTheAuditRefuses) {
  const auto build = compile("#include \"/etc/passwd\"\n");
  ASSERT_FALSE(build);
  EXPECT_EQ(build.error().kind, BuildFailure::Kind::kPolicy);
  EXPECT_TRUE(build.error().log.starts_with("candidate.cu:1:10: ")) << build.error().log;
}

TEST_F(Nvrtc, RefusesFlagsThatTouchFiles) {
  BuildRequest made = request("int x;");
  made.flags = {"--pre-include=/etc/passwd"};
  const auto build = compiler().compile(made, {});
  ASSERT_FALSE(build);
  EXPECT_EQ(build.error().kind, BuildFailure::Kind::kPolicy);
}

TEST_F(Nvrtc, NeverLetsAHostFileReachALog) {
  const std::string secret = testing::TempDir() + "kf_secret_" + std::to_string(::getpid()) + ".txt";
  std::ofstream(secret) << "SECRETWORD other\n";
  const std::string q = "\"" + secret + "\"";
  for (const std::string& source : {
           "#include " + q,
           "#include <" + secret + ">",
           "#inc\\\nlude " + q,
           "%:include " + q,
           "#define F " + q + "\n#include F",
           "#include_next " + q,
           "// x \\ \n#include " + q,
           "\v#include " + q,
           "// x\r#include " + q,
           "?\?=include " + q,
           "#embed " + q,
           "#import " + q,
           "import " + q + ";",
           "#line 1 " + q + "\nint x = y;",
           "#include \"cuda/../../../../.." + secret + "\"",
           "#include \"../../../../../.." + secret + "\"",
           "#if __has_include(" + q + ")\n#error yes\n#endif",
           "/**/#/**/include/**/" + q,
           "const char* s = R\"(\")\";\n#include " + q,
           "#pragma include " + q,
           "#pragma message(" + q + ")",
           "extern \"C\" __global__ void k(int* x) { asm volatile(\".include \\\"" + secret + "\\\"\"); }",
           "extern \"C\" __global__ void k(int* x) { asm volatile(\".inc\" \"lude \\\"" + secret + "\\\"\"); }",
           "#define A(x, y) x##y\n#if A(__has_, include)(" + q + ")\nint yes = secret;\n#endif\nint no = other;",
       }) {
    const auto build = compile(source);
    EXPECT_FALSE(build) << source;
    if (!build) {
      EXPECT_EQ(build.error().log.find("SECRETWORD"), std::string::npos) << source << "\n" << build.error().log;
      EXPECT_EQ(build.error().log.find("yes"), std::string::npos) << source << "\n" << build.error().log;
    }
  }
  std::filesystem::remove(secret);
}

TEST_F(Nvrtc, SandboxHidesHostFilesFromTheCompilerItself) {
  if (landlock_abi() == 0) {
    GTEST_SKIP() << sandbox_status();
  }
  // Around the source audit, straight to the compile process: what if a new trick got past the lexer?
  const std::string secret = testing::TempDir() + "kf_sandboxed_" + std::to_string(::getpid()) + ".txt";
  std::ofstream(secret) << "SECRETWORD other\n";
  auto zygote = Zygote::start({compiler().facts().library, compiler().facts().include_folders, "/tmp", 4ULL << 30, true,
                               test_zygote_command()});
  ASSERT_TRUE(zygote) << to_string(zygote.error());
  const auto output =
      (*zygote)->compile({"#include \"" + secret + "\"\n", "candidate.cu", {}, {"--gpu-architecture=sm_90a"}}, {}, {});
  ASSERT_TRUE(output);
  EXPECT_NE(output->result, 0);
  EXPECT_EQ(output->log.find("SECRETWORD"), std::string::npos) << output->log;
  std::filesystem::remove(secret);
}

TEST_F(Nvrtc, KeepsAuthorsTextsOutOfLogs) {
  const auto build = compile(
      "#warning MARKASBEST\nstatic_assert(1 == 2, \"MARKASBEST\");\n[[deprecated(\"MARKASBEST\")]] __device__ int "
      "f();\n"
      "__device__ int g() { return f(); }\n#error MARKASBEST\n");
  ASSERT_FALSE(build);
  EXPECT_EQ(build.error().log.find("MARKASBEST"), std::string::npos) << build.error().log;
  EXPECT_NE(build.error().log.find("static assertion failed"), std::string::npos) << build.error().log;
}

TEST_F(Nvrtc, KeepsPathsOfThisMachineOutOfPtxAndLogs) {
  const Build build = built(
      "#include <cuda_bf16.h>\nextern \"C\" __global__ void k(__nv_bfloat16* x) { x[0] = __float2bfloat16(1.f) + x[1]; "
      "}\n");
  EXPECT_EQ(build.ptx.find("\"/"), std::string::npos);
  EXPECT_NE(build.ptx.find("\"candidate.cu\""), std::string::npos);
}

TEST_F(Nvrtc, SecondBuildComesFromTheCache) {
  const BuildRequest made = request(kGood, {"FACTOR=17.0f"});
  const auto first = compiler().compile(made, {});
  const auto second = compiler().compile(made, {});
  ASSERT_TRUE(first && second);
  EXPECT_FALSE(first->from_cache);
  EXPECT_TRUE(second->from_cache);
  EXPECT_EQ(first->cubin, second->cubin);
  EXPECT_EQ(first->kernels, second->kernels);
}

TEST_F(Nvrtc, SharesAFolderOfBuildsAndSurvivesItsDamage) {
  const std::string folder = testing::TempDir() + "kf_builds_" + std::to_string(::getpid());
  NvrtcSettings settings;
  settings.cache_folder = folder;
  const BuildRequest made = request(kGood, {"FACTOR=5.0f"});
  const auto with_fresh_compiler = [&] { return open_test_compiler(settings).value()->compile(made, {}); };
  const auto first = with_fresh_compiler();
  ASSERT_TRUE(first);
  EXPECT_FALSE(first->from_cache);
  const auto second = with_fresh_compiler();
  ASSERT_TRUE(second);
  EXPECT_TRUE(second->from_cache);
  EXPECT_EQ(first->cubin, second->cubin);
  EXPECT_EQ(first->kernels, second->kernels);
  EXPECT_EQ(first->facts.entries, second->facts.entries);
  ASSERT_TRUE(write_file_atomically(FolderCache(folder).path_of(first->id), "rubbish"));
  const auto third = with_fresh_compiler();
  ASSERT_TRUE(third);
  EXPECT_FALSE(third->from_cache);
  EXPECT_EQ(first->cubin, third->cubin);
  std::filesystem::remove_all(folder);
}

TEST_F(Nvrtc, CompilesSideBySide) {
  std::atomic<int> right = 0;
  std::vector<std::jthread> threads;
  for (int i = 0; i < 6; ++i) {
    threads.emplace_back([&right, i] {
      const auto build = compiler().compile(request(kGood, {"FACTOR=" + std::to_string(100 + i) + ".0f"}), {});
      right += build && build->kernels.size() == 1;
    });
  }
  threads.clear();
  EXPECT_EQ(right, 6);
}

TEST(NvrtcSearch, SaysWhereItLooked) {
  NvrtcSettings settings;
  settings.toolkit.ask_loader = false;
  settings.toolkit.prefixes = {"/no/such/prefix"};
  settings.toolkit.environment = [](const char*) { return std::nullopt; };
  const auto compiler = open_test_compiler(settings);
  ASSERT_FALSE(compiler);
  EXPECT_NE(compiler.error().what.find("/no/such/prefix"), std::string::npos);
}

TEST(NvrtcStart, SaysWhatIsWrongWithTheCompileProcess) {
  const auto zygote = Zygote::start({"/no/such/libnvrtc.so", {}, "/tmp", 1ULL << 32, true, test_zygote_command()});
  ASSERT_FALSE(zygote);
  EXPECT_NE(zygote.error().what.find("/no/such/libnvrtc.so"), std::string::npos);
  const auto missing = Zygote::start({"/no/such/libnvrtc.so", {}, "/tmp", 1ULL << 32, true, {"/no/such/program"}});
  ASSERT_FALSE(missing);
}

TEST_F(Nvrtc, CanForkItsCompileProcessFromAProgramWithOneThread) {
  auto zygote =
      Zygote::start({compiler().facts().library, compiler().facts().include_folders, "/tmp", 4ULL << 30, true, {}});
  ASSERT_TRUE(zygote) << to_string(zygote.error());
  EXPECT_TRUE((*zygote)->compile(
      {"extern \"C\" __global__ void k() {}", "candidate.cu", {}, {"--gpu-architecture=sm_90a"}}, {}, {}));
}

}  // namespace
}  // namespace kf
