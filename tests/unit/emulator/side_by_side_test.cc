// SPDX-License-Identifier: Apache-2.0
// Launches carried out by several threads: results, findings and figures are those of one thread.
#include <array>
#include <atomic>

#include <gmock/gmock.h>

#include "emulator/crew.h"
#include "emulator/overlay.h"
#include "kernel_bench.h"

namespace kf::emulator_test {
namespace {

constexpr int kBlocks = 24, kThreads = 96, kElements = kBlocks * kThreads;

struct Result {
  std::string fault;
  std::vector<float> out;
  std::vector<int> counters;
};

// `k(const float* x, float* y, int* z, int n)`: x has values, y and z too.
Result run(const std::string& ptx, unsigned threads, std::uint64_t seed = 1, int launches = 1) {
  EmulatorOptions options;
  options.threads = threads;
  options.seed = seed;
  options.step_budget = 5'000'000;
  KernelBench bench(ptx, options);
  std::vector<float> x(kElements);
  for (int i = 0; i < kElements; ++i) x[static_cast<std::size_t>(i)] = static_cast<float>(i % 97) * 0.5f;
  const int in = bench.buffer(x), out = bench.buffer(std::vector<float>(kElements, -1.0f)),
            more = bench.buffer(std::vector<int>(kElements, 0));
  Result result;
  result.fault = fault_of(
      bench.pointer(in).pointer(out).pointer(more).scalar(kElements).launches("k", {{kBlocks}, {kThreads}}, launches));
  result.out = bench.read<float>(out, kElements);
  result.counters = bench.read<int>(more, kElements);
  return result;
}

void expect_equal(const std::string& source) {
  const auto ptx = compile_to_ptx(
      "extern \"C\" __global__ void k(const float* x, float* y, int* z, int n) {\n"
      "  int i = blockIdx.x * blockDim.x + threadIdx.x; (void)i;\n" +
      source + "}");
  if (!ptx) GTEST_SKIP() << "no NVRTC on this machine";
  for (const std::uint64_t seed : {1, 2, 3}) {
    const Result one = run(*ptx, 1, seed, 2);
    for (const unsigned threads : {2u, 5u}) {
      const Result several = run(*ptx, threads, seed, 2);
      EXPECT_EQ(several.fault, one.fault) << source;
      EXPECT_EQ(several.out, one.out) << source;
      EXPECT_EQ(several.counters, one.counters) << source;
    }
  }
}

TEST(SideBySide, BlocksThatShareNothingGiveTheSameResults) {
  expect_equal("y[i] = x[i] * 2 + blockIdx.x;");
  expect_equal("__shared__ float s[96]; s[threadIdx.x] = x[i]; __syncthreads(); y[i] = s[95 - threadIdx.x];");
}

TEST(SideBySide, NeighboursInOnePageAreNoDependence) {
  expect_equal("((char*)z)[blockIdx.x * 13 + threadIdx.x % 13] = (char)(blockIdx.x + threadIdx.x % 13); y[i] = 1;");
  expect_equal("y[i] = y[i] + x[i];");  // in place
}

TEST(SideBySide, AtomicsWithReturnedValuesAreLeftToOneThread) {
  expect_equal("z[i] = atomicAdd(z + n - 1, 0) + 1; y[atomicAdd(z, 1) % n] = i;");
  expect_equal("atomicAdd(y + i % 7, x[i] * 0.3f);");
}

TEST(SideBySide, BlocksThatWaitForOthersStayRight) {
  expect_equal(
      "volatile int* f = z; if (threadIdx.x == 0) { while (blockIdx.x != 0 && f[blockIdx.x - 1] == 0) {}\n"
      "y[blockIdx.x] = blockIdx.x == 0 ? 1 : 2; __threadfence(); f[blockIdx.x] = 1; }");
}

TEST(SideBySide, WritesOfOnePlaceByTwoBlocksEndAsWithOneThread) {
  expect_equal("y[threadIdx.x] = (float)blockIdx.x; z[i] = 3;");
  expect_equal("y[threadIdx.x] = 5.0f;");
}

TEST(SideBySide, ReadsOfWhatAnotherBlockWritesGiveTheSameFindingOrResult) {
  expect_equal("y[i] = x[i]; if (blockIdx.x > 0) z[i] = (int)y[i - 96];");
  expect_equal("z[i] = (int)y[(i + 96) % n]; y[i] = x[i];");
}

TEST(SideBySide, FindingsAreThoseOfOneThread) {
  expect_equal("if (blockIdx.x >= 5) y[i + (blockIdx.x == 17 ? n : 0)] = 1;");
  expect_equal("__shared__ float s[96]; if (blockIdx.x == 20) s[threadIdx.x] = 1; y[i] = s[95 - threadIdx.x];");
  expect_equal("if (blockIdx.x == 11 && threadIdx.x == 3) { while (z[0] == 0) asm volatile(\"\"); } y[i] = 1;");
}

TEST(SideBySide, ClocksCountAsWithOneThread) {
  expect_equal("z[i] = (int)clock();");
}

TEST(Crew, CallsEveryNumberOnceEachTime) {
  emulator::Crew crew(4);
  for (int round = 0; round < 50; ++round) {
    std::array<std::atomic<int>, 4> calls{};
    crew.run([&](unsigned n) { ++calls[n]; });
    for (const auto& count : calls) EXPECT_EQ(count, 1);
  }
}

// One region of two pages that begins in the middle of one.
struct TwoPages {
  std::vector<std::byte> bytes = std::vector<std::byte>(8192);
  emulator::Region region{0x1000'0800, 8192, bytes.data(), nullptr, false, "x"};
};

TEST(Overlay, KeepsWritesApartUntilTheyAreCommitted) {
  TwoPages pages;
  emulator::Overlay a, b;
  a.enter(1);
  b.enter(2);
  *a.write(pages.region, 0x1000'0800, 4).data = std::byte{7};
  *b.write(pages.region, 0x1000'0804, 4).data = std::byte{8};
  EXPECT_EQ(*a.read(pages.region, 0x1000'0804, 4).data, std::byte{0});
  EXPECT_EQ(pages.bytes[0], std::byte{0});
  const std::array all{&a, &b};
  b.commit();
  EXPECT_FALSE(emulator::Overlay::independent(all));  // a has read what b writes
  EXPECT_EQ(pages.bytes[4], std::byte{8});
  EXPECT_EQ(pages.bytes[0], std::byte{0});
}

TEST(Overlay, SeesBytesThatTwoThreadsWrite) {
  TwoPages pages;
  emulator::Overlay a, b;
  a.enter(1);
  b.enter(2);
  a.write(pages.region, 0x1000'1000, 2);
  b.write(pages.region, 0x1000'1002, 2);
  EXPECT_TRUE(emulator::Overlay::independent(std::array{&a, &b}));
  b.write(pages.region, 0x1000'1001, 1);
  EXPECT_FALSE(emulator::Overlay::independent(std::array{&a, &b}));
}

TEST(Overlay, SeesDependenceBetweenClustersOfOneThread) {
  TwoPages pages;
  emulator::Overlay a;
  a.enter(1);
  a.write(pages.region, 0x1000'0800, 4);
  a.read(pages.region, 0x1000'1800, 4);
  a.enter(2);
  EXPECT_NO_THROW(a.read(pages.region, 0x1000'0804, 4));
  EXPECT_THROW(a.read(pages.region, 0x1000'0800, 4), emulator::Entangled);
  EXPECT_THROW(a.write(pages.region, 0x1000'0800, 1), emulator::Entangled);
  EXPECT_THROW(a.write(pages.region, 0x1000'1800, 4), emulator::Entangled);
}

TEST(Overlay, APageThatACopyStillReadsIsNotWritten) {
  TwoPages pages;
  emulator::Overlay a;
  a.enter(1);
  a.pin(pages.region, 0x1000'0800);
  EXPECT_THROW(a.write(pages.region, 0x1000'0900, 4), emulator::Entangled);
}

}  // namespace
}  // namespace kf::emulator_test
