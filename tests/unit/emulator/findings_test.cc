// SPDX-License-Identifier: Apache-2.0
// One wrong kernel for each checker, and the right one beside it where a false alarm would be likely.
#include <gmock/gmock.h>

#include "kernel_bench.h"

namespace kf::emulator_test {
namespace {

using testing::AllOf;
using testing::HasSubstr;

// Runs `k(in, out, n)` over 256 floats with the given block.
std::string finding(const std::string& source, std::uint32_t threads = 256, int n = 256, std::uint32_t grid = 1,
                    std::uint64_t seed = 1) {
  const auto ptx = compile_to_ptx(source);
  if (!ptx) return "no NVRTC";
  EmulatorOptions options;
  options.seed = seed;
  options.step_budget = 20'000'000;
  KernelBench bench(*ptx, options);
  const int in = bench.buffer(std::vector<float>(256, 1.0f)), out = bench.allocate(4 * 256);
  return fault_of(bench.pointer(in).pointer(out).scalar(n).launch("k", {{grid}, {threads}, {}, 4096}));
}
#define KF_NEEDS_NVRTC() \
  if (!compile_to_ptx("")) return without_nvrtc()

TEST(Findings, ReadPastTheEndNamesKernelLineThreadAndByte) {
  KF_NEEDS_NVRTC();
  EXPECT_THAT(
      finding("extern \"C\" __global__ void k(const float* x, float* y, int n) {\n"
              "  int i = threadIdx.x;\n"
              "  y[i] = x[i + 1];\n}"),
      AllOf(HasSubstr("kernel k"), HasSubstr("kernel.cu:3"), HasSubstr("block (0,0,0)"), HasSubstr("thread (255,0,0)"),
            HasSubstr("out of bounds"), HasSubstr("byte 1024 of tensor 0, which has 1024 bytes")));
}

TEST(Findings, WritePastTheEndIsOutOfBounds) {
  KF_NEEDS_NVRTC();
  EXPECT_THAT(
      finding(
          "extern \"C\" __global__ void k(const float* x, float* y, int n) { y[threadIdx.x + 3] = x[threadIdx.x]; }"),
      AllOf(HasSubstr("writes 4 bytes out of bounds"), HasSubstr("tensor 1")));
}

TEST(Findings, WildPointerIsOutOfBounds) {
  KF_NEEDS_NVRTC();
  EXPECT_THAT(
      finding("extern \"C\" __global__ void k(const float* x, float* y, int n) { y[(1ull << 40) + threadIdx.x] = 1; }"),
      HasSubstr("out of bounds"));
  EXPECT_THAT(finding("extern \"C\" __global__ void k(const float* x, float* y, int n) { asm volatile(\"st.global.f32 "
                      "[%0], %1;\" :: \"l\"(0ull), \"f\"(1.f)); }"),
              HasSubstr("no allocation is there"));
}

TEST(Findings, MisalignedVectorLoad) {
  KF_NEEDS_NVRTC();
  EXPECT_THAT(finding("extern \"C\" __global__ void k(const float* x, float* y, int n) { float4 v = *(const float4*)(x "
                      "+ 1); y[threadIdx.x] = v.x + v.y + v.z + v.w; }"),
              HasSubstr("misaligned"));
}

TEST(Findings, SharedMemoryOutOfBounds) {
  KF_NEEDS_NVRTC();
  EXPECT_THAT(finding("extern \"C\" __global__ void k(const float* x, float* y, int n) { extern __shared__ float s[]; "
                      "s[threadIdx.x * n / 16] = 1; __syncthreads(); y[threadIdx.x] = s[0]; }",
                      256, 257),
              AllOf(HasSubstr("of shared memory"), HasSubstr("4096 bytes")));
}

TEST(Findings, UninitialisedSharedLocalAndOutputMemory) {
  KF_NEEDS_NVRTC();
  EXPECT_THAT(finding("extern \"C\" __global__ void k(const float* x, float* y, int n) { __shared__ float a; "
                      "atomicAdd(&a, x[threadIdx.x]); __syncthreads(); y[threadIdx.x] = a; }"),
              HasSubstr("of shared memory that nothing has written"));
  EXPECT_THAT(
      finding("extern \"C\" __global__ void k(const float* x, float* y, int n) { y[threadIdx.x] += x[threadIdx.x]; }"),
      AllOf(HasSubstr("of global memory that nothing has written"), HasSubstr("tensor 1")));
  EXPECT_THAT(finding("extern \"C\" __global__ void k(const float* x, float* y, int n) { float t[64]; for (int i = 0; "
                      "i < n / 64; ++i) t[i * 3] = x[i]; y[threadIdx.x] = t[(threadIdx.x + n) & 63]; }"),
              HasSubstr("of local memory that nothing has written"));
}

constexpr const char* kSoftmaxRow = R"(
extern "C" __global__ void k(const float* x, float* y, int n) {
  __shared__ float s[32]; int w = threadIdx.x >> 5, l = threadIdx.x & 31; float v = x[threadIdx.x], m = v;
  for (int d = 16; d; d >>= 1) m = fmaxf(m, __shfl_xor_sync(~0u, m, d)); if (!l) s[w] = m; __syncthreads();
  m = s[0]; for (int i = 1; i < (int)blockDim.x / 32; ++i) m = fmaxf(m, s[i]);
  BETWEEN
  float e = __expf(v - m), t = e; for (int d = 16; d; d >>= 1) t += __shfl_xor_sync(~0u, t, d);
  if (!l) s[w] = t; __syncthreads();
  t = 0; for (int i = 0; i < (int)blockDim.x / 32; ++i) t += s[i]; y[threadIdx.x] = e / t;
})";

TEST(Findings, SharedMemoryReusedWithoutABarrierIsARaceUnderEverySeed) {
  KF_NEEDS_NVRTC();
  std::string wrong = kSoftmaxRow, right = kSoftmaxRow;
  wrong.replace(wrong.find("BETWEEN"), 7, "");
  right.replace(right.find("BETWEEN"), 7, "__syncthreads();");
  for (std::uint64_t seed = 1; seed <= 8; ++seed) {
    EXPECT_THAT(finding(wrong, 256, 256, 1, seed),
                AllOf(HasSubstr("race on shared memory"), HasSubstr("no barrier lies between")))
        << seed;
    EXPECT_EQ(finding(right, 256, 256, 1, seed), "") << seed;
  }
}

TEST(Findings, MissingBarrierAfterAStoreIsARace) {
  KF_NEEDS_NVRTC();
  EXPECT_THAT(finding("extern \"C\" __global__ void k(const float* x, float* y, int n) { __shared__ float s[256]; "
                      "s[threadIdx.x] = x[threadIdx.x]; y[threadIdx.x] = s[(threadIdx.x + 32) & 255]; }"),
              testing::AnyOf(HasSubstr("race on shared memory"), HasSubstr("nothing has written")));
}

// Whichever of them comes last, the word holds the same: of one store, of several, of wide and of narrow ones.
TEST(Findings, WritesOfOneValueToOneSharedWordAreNoRaceAndOfSeveralAreOne) {
  KF_NEEDS_NVRTC();
  const auto with = [](const std::string& writes) {
    return finding(
        "extern \"C\" __global__ void k(const float* x, float* y, int n) { __shared__ alignas(16) float s[8]; "
        "if (threadIdx.x == 0) { s[0] = s[1] = s[2] = s[3] = s[4] = 1; } __syncthreads(); " +
            writes + " __syncthreads(); y[threadIdx.x] = s[0] + s[4]; }",
        64);
  };
  for (const char* same :
       {"s[0] = 3;", "if (x[threadIdx.x] > 0) s[4] = n;", "*(float4*)s = make_float4(n, 2, 3, 4);",
        "s[0] = 3; s[0] = 3;", "((char*)s)[5] = 7;", "*(float4*)s = make_float4(5, 2, 3, 4); s[0] = 5;"}) {
    EXPECT_EQ(with(same), "") << same;
  }
  for (const char* others : {"s[0] = threadIdx.x;", "s[0] = threadIdx.x / 32;", "s[4] = threadIdx.x < 63 ? 3 : 4;",
                             "*(float4*)s = make_float4(1, 2, 3, threadIdx.x % 32);", "((char*)s)[5] = threadIdx.x;",
                             "s[0] = 3; if (threadIdx.x == 40) s[0] = 4;"}) {
    EXPECT_THAT(with(others), HasSubstr("race on shared memory")) << others;
  }
}

TEST(Findings, MissingWarpBarrierIsARaceInsideTheWarp) {
  KF_NEEDS_NVRTC();
  const std::string head =
      "extern \"C\" __global__ void k(const float* x, float* y, int n) { __shared__ float s[32]; s[threadIdx.x] = "
      "x[threadIdx.x];";
  const std::string tail = " y[threadIdx.x] = s[threadIdx.x ^ 1]; }";
  EXPECT_THAT(finding(head + tail, 32), HasSubstr("race on shared memory"));
  EXPECT_EQ(finding(head + " __syncwarp();" + tail, 32), "");
}

TEST(Findings, AWarpBarrierOrdersOnlyTheLanesOfItsMask) {
  if (!compile_to_ptx("")) return without_nvrtc();
  const auto found = [](const std::string& barriers) {
    const auto ptx = compile_to_ptx(
        "extern \"C\" __global__ void k(int* y) { __shared__ int s[32]; const int t = threadIdx.x; s[t ^ 16] = t;\n" +
        barriers + " y[t] = s[t]; }");
    KernelBench bench(*ptx);
    return fault_of(bench.pointer(bench.allocate(128)).launch("k", {{1}, {32}}));
  };
  const std::string halves = "__syncwarp(t < 16 ? 0xffffu : 0xffff0000u);";
  EXPECT_EQ(found("__syncwarp();"), "");
  EXPECT_NE(found(halves).find("race on shared memory"), std::string::npos);
  EXPECT_EQ(found("__syncwarp(1u << (t & 15) | 65536u << (t & 15));"), "");
  // By way of lanes 0 and 16 alone: each half meets, the two meet, each half meets again.
  EXPECT_EQ(found(halves + " if (t % 16 == 0) __syncwarp(0x10001u); " + halves), "");
  EXPECT_NE(found(halves + " if (t % 16 == 1) __syncwarp(0x20002u);").find("race on shared memory"), std::string::npos);
}

TEST(Findings, AFlagInSharedMemoryOrdersOnlyWithFencesOnBothSides) {
  KF_NEEDS_NVRTC();
  const std::string head =
      "extern \"C\" __global__ void k(const float* x, float* y, int n) { __shared__ int flag; __shared__ float v; "
      "if (!threadIdx.x) flag = 0; __syncthreads(); if (threadIdx.x == 0) { v = x[0];";
  const std::string middle = " atomicExch(&flag, 1); } if (threadIdx.x == 32) { while (atomicAdd(&flag, 0) == 0) {}";
  const std::string tail = " y[0] = v; } }";
  const std::string fence = " __threadfence_block();";
  EXPECT_EQ(finding(head + fence + middle + fence + tail, 64), "");
  EXPECT_THAT(finding(head + middle + fence + tail, 64), HasSubstr("race on shared memory"));
  EXPECT_THAT(finding(head + fence + middle + tail, 64), HasSubstr("race on shared memory"));
}

TEST(Findings, BarrierInADivergentBranch) {
  KF_NEEDS_NVRTC();
  EXPECT_THAT(
      finding(
          "extern \"C\" __global__ void k(const float* x, float* y, int n) { if (threadIdx.x < 40) __syncthreads(); "
          "y[threadIdx.x] = x[threadIdx.x]; if (threadIdx.x >= 40) { __syncthreads(); y[threadIdx.x] = 2; } }"),
      HasSubstr("barrier divergence"));
}

TEST(Findings, ABarrierThatSomeThreadsNeverReachDeadlocks) {
  KF_NEEDS_NVRTC();
  EXPECT_THAT(finding("extern \"C\" __global__ void k(const float* x, float* y, int n) { if (threadIdx.x < 32) asm "
                      "volatile(\"bar.sync 1, 64;\" ::: \"memory\"); else if (threadIdx.x < 64) asm "
                      "volatile(\"bar.sync 2, 64;\" ::: \"memory\"); y[threadIdx.x] = x[threadIdx.x]; }",
                      64),
              HasSubstr("deadlock"));
}

TEST(Findings, ShuffleFromLanesThatDoNotExist) {
  KF_NEEDS_NVRTC();
  EXPECT_THAT(finding("extern \"C\" __global__ void k(const float* x, float* y, int n) { float s = x[threadIdx.x]; for "
                      "(int d = 16; d; d >>= 1) s += __shfl_xor_sync(~0u, s, d); y[threadIdx.x] = s; }",
                      48),
              AllOf(HasSubstr("takes the value of lane"), HasSubstr("never existed")));
}

TEST(Findings, AMaskWhoseLanesNeverComeDeadlocks) {
  KF_NEEDS_NVRTC();
  EXPECT_THAT(finding("extern \"C\" __global__ void k(const float* x, float* y, int n) { float s = x[threadIdx.x]; if "
                      "(threadIdx.x & 1) { s += __shfl_xor_sync(~0u, s, 2); } else { __syncwarp(0x55555555u); "
                      "__syncthreads(); } y[threadIdx.x] = s; }",
                      32),
              AllOf(HasSubstr("deadlock"), HasSubstr("of its member mask")));
}

TEST(Findings, ACallerOutsideItsOwnMask) {
  KF_NEEDS_NVRTC();
  EXPECT_THAT(finding("extern \"C\" __global__ void k(const float* x, float* y, int n) { y[threadIdx.x] = "
                      "__shfl_sync(0xffff, x[threadIdx.x], 3); }",
                      32),
              HasSubstr("does not name its own lane"));
}

TEST(Findings, AnEndlessLoopUsesUpTheStepBudget) {
  KF_NEEDS_NVRTC();
  EXPECT_THAT(finding("extern \"C\" __global__ void k(const float* x, float* y, int n) { volatile float* v = y; v[0] = "
                      "1; while (v[0] != 2) {} }",
                      32),
              HasSubstr("budget"));
}

TEST(Findings, AnInstructionOutsideTheSubsetIsUnsupportedWithItsLine) {
  KF_NEEDS_NVRTC();
  EXPECT_THAT(finding("extern \"C\" __global__ void k(const float* x, float* y, int n) {\n  asm "
                      "volatile(\"wgmma.fence.sync.aligned;\");\n  y[threadIdx.x] = x[threadIdx.x];\n}",
                      32),
              AllOf(HasSubstr("wgmma"), HasSubstr("kernel.cu:2"), HasSubstr("not supported by the emulator")));
}

TEST(Findings, LanesThatWaitForEachOtherInsideAWarpMakeProgress) {
  KF_NEEDS_NVRTC();
  EXPECT_EQ(finding("extern \"C\" __global__ void k(const float* x, float* y, int n) { __shared__ int lock; if "
                    "(!threadIdx.x) lock = 0; __syncthreads(); bool done = false; "
                    "while (!done) { if (atomicCAS(&lock, 0, 1) == 0) { y[threadIdx.x] = x[threadIdx.x]; "
                    "__threadfence(); atomicExch(&lock, 0); done = true; } } }",
                    64),
            "");
}

TEST(Findings, ABlockMayWaitForALaterResidentBlock) {
  KF_NEEDS_NVRTC();
  EXPECT_EQ(
      finding("__device__ int flag; extern \"C\" __global__ void k(const float* x, float* y, int n) { if (threadIdx.x) "
              "return; "
              "if (blockIdx.x == 15) atomicExch(&flag, 1); while (atomicAdd(&flag, 0) == 0) {} y[blockIdx.x] = x[0]; }",
              32, 256, 16),
      "");
}

TEST(Findings, AMissingFenceBetweenBlocksIsARaceOnGlobalMemory) {
  KF_NEEDS_NVRTC();
  const std::string head =
      "__device__ int flag; extern \"C\" __global__ void k(const float* x, float* y, int n) {\n"
      "  if (blockIdx.x == 0) { y[0] = x[0];";
  const std::string middle = " atomicExch(&flag, 1); }\n  else { while (atomicAdd(&flag, 0) == 0) {}";
  const std::string tail = " y[1] = y[0]; } }", fence = " __threadfence();";
  EXPECT_EQ(finding(head + fence + middle + fence + tail, 1, 256, 2), "");
  for (const std::string& wrong : {head + middle + fence + tail, head + fence + middle + tail})
    EXPECT_THAT(finding(wrong, 1, 256, 2),
                AllOf(HasSubstr("race on global memory: reads byte 0 of tensor 1"), HasSubstr("kernel.cu:3"),
                      HasSubstr("block (0,0,0), thread (0,0,0) at kernel.cu:2")));
}

TEST(Findings, ADependentLaunchMustWaitBeforeItTouchesWhatTheOneBeforeWrites) {
  KF_NEEDS_NVRTC();
  auto run = [](const std::string& wait) {
    const auto ptx =
        compile_to_ptx("extern \"C\" __global__ void k(const float* x, float* y) { float v = x[threadIdx.x];" + wait +
                       " y[threadIdx.x] = v; }");
    KernelBench bench(*ptx);
    const int in = bench.buffer(std::vector<float>(64, 1.0f)), out = bench.allocate(256);
    return fault_of(bench.pointer(in).pointer(out).launches("k", {{1}, {64}}, 2, true));
  };
  EXPECT_EQ(run(" asm volatile(\"griddepcontrol.wait;\" ::: \"memory\");"), "");
  EXPECT_THAT(run(""), AllOf(HasSubstr("which launch k[0] of kernel k writes at kernel.cu:1"),
                             HasSubstr("griddepcontrol.wait")));
}

TEST(Findings, AFlagThatIsWrittenWeaklyIsARaceWithAStrongRead) {
  KF_NEEDS_NVRTC();
  const auto message = [](const char* write) {
    return finding(
        std::string("__device__ int flag; extern \"C\" __global__ void k(const float* x, float* y, int n) {\n"
                    "  if (blockIdx.x == 0) { y[0] = x[0]; __threadfence();\n  ") +
            write +
            " }\n"
            "  else { while (*(volatile int*)&flag == 0) {} __threadfence(); y[1] = y[0]; } }",
        1, 256, 2);
  };
  EXPECT_EQ(message("*(volatile int*)&flag = 1;"), "");
  EXPECT_THAT(message("flag = 1;"), AllOf(HasSubstr("race on global memory: reads"), HasSubstr("kernel.cu:4"),
                                          HasSubstr("at kernel.cu:3"), HasSubstr("ld.volatile")));
}

}  // namespace
}  // namespace kf::emulator_test
