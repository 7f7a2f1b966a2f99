// SPDX-License-Identifier: Apache-2.0
// Strong writes whose order nothing guarantees show in another order in some schedules; a fence keeps them in order.
#include "kernel_bench.h"

namespace kf::emulator_test {
namespace {

// Block 0 writes z[t + 64] = 7, then z[t] = 1; block 1 waits for z[t] and gives what it reads of z[t + 64].
int runs_that_see_old_data(const std::string& write, const std::string& fence, const std::string& flag, int seeds,
                           std::string* fault) {
  const auto ptx = compile_to_ptx(
      "extern \"C\" __global__ void k(unsigned* z, int* y) { int t = threadIdx.x; volatile unsigned* v = z; (void)v;\n"
      "  if (blockIdx.x == 0) { " +
      write + "\n " + fence + " " + flag +
      " }\n"
      "  else { unsigned f; do { asm volatile(\"ld.relaxed.gpu.global.u32 %0, [%1];\" : \"=r\"(f) : \"l\"(z + t) : "
      "\"memory\"); } while (!f);\n"
      "    " +
      fence +
      " asm volatile(\"ld.relaxed.gpu.global.u32 %0, [%1];\" : \"=r\"(f) : \"l\"(z + t + 64) : \"memory\"); y[t] = f; "
      "} }");
  if (!ptx) return -1;
  int old = 0;
  for (int seed = 1; seed <= seeds; ++seed) {
    EmulatorOptions options;
    options.seed = static_cast<std::uint64_t>(seed);
    KernelBench bench(*ptx, options);
    const int z = bench.buffer(std::vector<int>(128)), y = bench.allocate(256);
    const std::string found = fault_of(bench.pointer(z).pointer(y).launch("k", {{2}, {64}}));
    if (!found.empty()) *fault = found;
    bool seen = false;
    for (const int value : bench.read<int>(y, 64)) seen |= found.empty() && value != 7;
    old += seen;
  }
  return old;
}

const std::string kRelaxed = R"(asm volatile("st.relaxed.gpu.global.u32 [%0], 7;" :: "l"(z + t + 64) : "memory");)",
                  kVolatile = "v[t + 64] = 7;", kAdd = "atomicAdd(z + t + 64, 7u);",
                  kRelaxedFlag = R"(asm volatile("st.relaxed.gpu.global.u32 [%0], 1;" :: "l"(z + t) : "memory");)",
                  kVolatileFlag = "v[t] = 1;", kAtomicFlag = "atomicExch(z + t, 1u);",
                  kReleaseFlag = R"(asm volatile("st.release.gpu.global.u32 [%0], 1;" :: "l"(z + t) : "memory");)";

TEST(Order, StrongWritesWithoutAFenceAreSeenInAnotherOrderInSomeSchedules) {
  std::string fault;
  for (const auto& [write, flag] : {std::pair{kRelaxed, kRelaxedFlag},
                                    {kVolatile, kVolatileFlag},
                                    {kRelaxed, kAtomicFlag},
                                    {kVolatile, kRelaxedFlag}}) {
    const int old = runs_that_see_old_data(write, "", flag, 12, &fault);
    if (old < 0) return without_nvrtc();
    EXPECT_EQ(fault, "");
    EXPECT_GE(old, 3) << write << flag;
  }
}

TEST(Order, AFenceOrAReleaseKeepsThemInOrder) {
  std::string fault;
  for (const auto& [write, flag] :
       {std::pair{kRelaxed, kRelaxedFlag}, {kVolatile, kVolatileFlag}, {kRelaxed, kAtomicFlag}, {kAdd, kRelaxedFlag}}) {
    const int old = runs_that_see_old_data(write, "__threadfence();", flag, 12, &fault);
    if (old < 0) return without_nvrtc();
    EXPECT_EQ(old, 0) << write << flag;
  }
  EXPECT_EQ(runs_that_see_old_data(kRelaxed, "if (blockIdx.x) __threadfence();", kReleaseFlag, 12, &fault), 0);
  EXPECT_EQ(fault, "");
}

// What a place held before a write counts as read without a value where it had none, whatever has come since.
TEST(Order, AnOldValueThatNobodyHadWrittenIsUndefined) {
  KF_COMPILE_OR_SKIP(ptx,
                     R"(extern "C" __global__ void k(unsigned* z, unsigned* y, unsigned* out) { int t = threadIdx.x;
    volatile unsigned *v = y, *flag = z;
    if (blockIdx.x == 0) { v[t] = 7; flag[t] = 1; }
    else { while (!flag[t]) {} unsigned f = v[t]; out[t] = f < 100 ? f : 100; } })");
  int found = 0, right = 0;
  for (std::uint64_t seed = 1; seed <= 24; ++seed) {
    EmulatorOptions options;
    options.seed = seed;
    KernelBench bench(ptx, options);
    const int z = bench.buffer(std::vector<unsigned>(64)), y = bench.allocate(256),
              out = bench.buffer(std::vector<unsigned>(64));
    const std::string fault = fault_of(bench.pointer(z).pointer(y).pointer(out).launch("k", {{2}, {64}}));
    found += fault.find("nothing had to have written yet") != std::string::npos ||
             fault.find("that nothing has written") != std::string::npos;
    right += fault.empty() && bench.read<unsigned>(out, 64) == std::vector<unsigned>(64, 7);
  }
  EXPECT_EQ(found + right, 24);
  EXPECT_GE(found, 3);
}

TEST(Order, AThreadSeesItsOwnWritesAndTheLastOneOfAPlaceStays) {
  KF_COMPILE_OR_SKIP(
      ptx, R"(extern "C" __global__ void k(unsigned* z, int* y) { int t = threadIdx.x; volatile unsigned* v = z;
    int sum = 0; for (int i = 1; i < 40; ++i) { v[t] = i; v[t + 64 * (i & 3)] = i; sum += z[t] + v[t + 64 * (i & 3)]; } y[t] = sum; })");
  int want = 0;
  for (int i = 1; i < 40; ++i) want += 2 * i;
  for (std::uint64_t seed = 1; seed <= 5; ++seed) {
    EmulatorOptions options;
    options.seed = seed;
    KernelBench bench(ptx, options);
    const int z = bench.buffer(std::vector<int>(256)), y = bench.allocate(256);
    ASSERT_EQ(fault_of(bench.pointer(z).pointer(y).launch("k", {{1}, {64}})), "");
    EXPECT_EQ(bench.read<int>(y, 64), std::vector<int>(64, want));
    const auto places = bench.read<int>(z, 256);
    for (int k = 0; k < 4; ++k)
      for (int t = 0; t < 64; ++t) EXPECT_EQ(places[64 * k + t], k == 0 ? 39 : 36 + k) << k;
  }
}

// x changes while a write of it is put aside; the write must not change x back, and must have the x of its time.
TEST(Order, AWriteThatReadsARegisterTwiceLeavesItAsItIs) {
  KF_COMPILE_OR_SKIP(ptx, R"(extern "C" __global__ void k(unsigned* z, float* f, unsigned* y) { int t = threadIdx.x;
    unsigned x = t;
    #pragma unroll 1
    for (int i = 0; i < 40; ++i) {
      asm volatile("st.volatile.global.v2.u32 [%0], {%1, %1};" :: "l"(z + 2 * (64 * i + t)), "r"(x) : "memory");
      x = x * 5 + 3;
    }
    y[t] = x;
    float g = (float)t;
    #pragma unroll 1
    for (int i = 0; i < 40; ++i) {
      asm volatile("red.relaxed.gpu.global.add.v2.f32 [%0], {%1, %1};" :: "l"(f + 2 * (64 * i + t)), "f"(g) : "memory");
      g += 1.0f;
    }
    y[t + 64] = (unsigned)g; })");
  std::vector<unsigned> pairs(2 * 64 * 40), last(128);
  std::vector<float> sums(pairs.size());
  for (unsigned t = 0; t < 64; ++t) {
    last[t] = t;
    last[t + 64] = t + 40;
    for (unsigned i = 0; i < 40; ++i, last[t] = last[t] * 5 + 3) {
      pairs[2 * (64 * i + t)] = pairs[2 * (64 * i + t) + 1] = last[t];
      sums[2 * (64 * i + t)] = sums[2 * (64 * i + t) + 1] = static_cast<float>(t + i);
    }
  }
  for (std::uint64_t seed = 1; seed <= 25; ++seed) {
    EmulatorOptions options;
    options.seed = seed;
    KernelBench bench(ptx, options);
    const int z = bench.buffer(std::vector<unsigned>(pairs.size())), f = bench.buffer(std::vector<float>(sums.size())),
              y = bench.allocate(512);
    ASSERT_EQ(fault_of(bench.pointer(z).pointer(f).pointer(y).launch("k", {{1}, {64}})), "");
    EXPECT_EQ(bench.read<unsigned>(z, pairs.size()), pairs) << seed;
    EXPECT_EQ(bench.read<float>(f, sums.size()), sums) << seed;
    EXPECT_EQ(bench.read<unsigned>(y, 128), last) << seed;
  }
}

// Each block adds to 16 sums and to places of its own; the last one to take a ticket gives the sums. How many of 24
// schedules give sums that lack something; -1 where a block did not see its own additions behind its barrier.
int runs_with_incomplete_sums(const std::string& ptx) {
  int incomplete = 0;
  for (std::uint64_t seed = 1; seed <= 24; ++seed) {
    EmulatorOptions options;
    options.seed = seed;
    KernelBench bench(ptx, options);
    const int z = bench.buffer(std::vector<unsigned>(1024)), y = bench.buffer(std::vector<unsigned>(17));
    EXPECT_EQ(fault_of(bench.pointer(z).pointer(y).launch("k", {{8}, {64}})), "");
    const auto sums = bench.read<unsigned>(y, 17);
    if (sums[16] != 0) return -1;
    incomplete += std::vector<unsigned>(sums.begin(), sums.end() - 1) != std::vector<unsigned>(16, 32);
  }
  return incomplete;
}
std::string sums_behind_a_ticket(const std::string& release, const std::string& acquire) {
  return R"(__device__ void add(unsigned* to) { asm volatile("red.relaxed.gpu.global.add.u32 [%0], 1;" :: "l"(to) : "memory"); }
  extern "C" __global__ void k(unsigned* z, unsigned* y) { int t = threadIdx.x; volatile unsigned* v = z; __shared__ unsigned ticket;
    unsigned* own = z + 128 + 64 * blockIdx.x; add(z + 64 + (t & 15)); add(own + t); )" +
         release + R"( __syncthreads();
    if (*(volatile unsigned*)(own + (t ^ 63)) != 1) y[16] = 1;
    if (!t) { ticket = atomicAdd(z, 1u); )" +
         acquire + R"( } __syncthreads();
    if (ticket == gridDim.x - 1 && t < 16) y[t] = v[64 + t]; })";
}

TEST(Order, ABarrierShowsAdditionsToItsBlockAndOnlyAFenceShowsThemToOthers) {
  const std::string fence = "__threadfence();";
  KF_COMPILE_OR_SKIP(right, sums_behind_a_ticket(fence, fence));
  KF_COMPILE_OR_SKIP(not_released, sums_behind_a_ticket("", fence));
  KF_COMPILE_OR_SKIP(not_acquired, sums_behind_a_ticket(fence, ""));
  // One thread's fence is enough for what its block has met it with.
  KF_COMPILE_OR_SKIP(by_one, sums_behind_a_ticket("__syncthreads(); if (!t) __threadfence();", fence));
  EXPECT_EQ(runs_with_incomplete_sums(right), 0);
  EXPECT_EQ(runs_with_incomplete_sums(by_one), 0);
  EXPECT_GE(runs_with_incomplete_sums(not_released), 3);
  EXPECT_GE(runs_with_incomplete_sums(not_acquired), 3);
}

// Block 0 writes y[t] weakly and sets z[t]; block 1, or warp 1 of block 0, waits for z[t] and adds one.
std::string found_behind_a_flag(const std::string& write, const std::string& read, bool same_block) {
  const auto ptx = compile_to_ptx(
      R"(#define FENCE(words) asm volatile("fence.acq_rel." words ";" ::: "memory")
  #define SET(words) asm volatile("st." words ".global.u32 [%0], 1;" :: "l"(z + t) : "memory")
  #define GET(words) do asm volatile("ld." words ".global.u32 %0, [%1];" : "=r"(f) : "l"(z + t) : "memory"); while (!f)
  extern "C" __global__ void k(unsigned* z, int* y) { unsigned f, t = threadIdx.x % 32;
    if ()" +
      std::string(same_block ? "threadIdx.x < 32" : "blockIdx.x == 0") + ") { y[t] = 7; " + write + " } else { " +
      read + " y[t + 32] = y[t] + 1; } }");
  if (!ptx) return "no NVRTC";
  KernelBench bench(*ptx, {});
  const int z = bench.buffer(std::vector<int>(32)), y = bench.allocate(256);
  return fault_of(bench.pointer(z).pointer(y).launch("k", {{same_block ? 1u : 2u}, {same_block ? 64u : 32u}}));
}

TEST(Order, WhatReachesOnlyItsBlockOrdersNothingTowardsAnotherOne) {
  if (!compile_to_ptx("")) return without_nvrtc();
  const std::string to_all = R"(FENCE("gpu"); SET("relaxed.gpu");)", from_all = R"(GET("relaxed.gpu"); FENCE("gpu");)";
  EXPECT_EQ(found_behind_a_flag(to_all, from_all, false), "");
  EXPECT_EQ(found_behind_a_flag(R"(SET("release.gpu");)", R"(GET("acquire.gpu");)", false), "");
  for (const std::string write :
       {R"(FENCE("cta"); SET("relaxed.gpu");)", R"(SET("release.cta");)", R"(FENCE("gpu"); SET("relaxed.cta");)"}) {
    EXPECT_NE(found_behind_a_flag(write, from_all, false).find("reach no other block"), std::string::npos) << write;
    EXPECT_EQ(found_behind_a_flag(write, from_all, true), "") << write;
  }
  for (const std::string read :
       {R"(GET("relaxed.gpu"); FENCE("cta");)", R"(GET("acquire.cta");)", R"(GET("relaxed.cta"); FENCE("gpu");)"}) {
    EXPECT_NE(found_behind_a_flag(to_all, read, false).find("reach no other block"), std::string::npos) << read;
    EXPECT_EQ(found_behind_a_flag(to_all, read, true), "") << read;
  }
}

TEST(Order, AtomicsOfABlocksScopeMustNotMeetThoseOfAnotherBlock) {
  KF_COMPILE_OR_SKIP(own, "extern \"C\" __global__ void k(unsigned* z) { atomicAdd_block(z + blockIdx.x, 1u); }");
  KF_COMPILE_OR_SKIP(shared, "extern \"C\" __global__ void k(unsigned* z) { atomicAdd_block(z, 1u); }");
  const auto found = [](const std::string& ptx) {
    KernelBench bench(ptx, {});
    const int z = bench.buffer(std::vector<int>(32));
    return fault_of(bench.pointer(z).launch("k", {{2}, {64}}));
  };
  EXPECT_EQ(found(own), "");
  EXPECT_NE(found(shared).find("reach no other block"), std::string::npos);
}

}  // namespace
}  // namespace kf::emulator_test
