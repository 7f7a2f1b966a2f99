// SPDX-License-Identifier: Apache-2.0
// Launches carried out by several threads: results, findings and figures are those of one thread.
#include <pthread.h>
#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <fstream>

#include <gmock/gmock.h>

#include "emulator/crew.h"
#include "emulator/overlay.h"
#include "emulator/ptx.h"
#include "emulator/side_by_side.h"
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
  if (!ptx) return without_nvrtc();
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

// A launch by hand, of `k(x, y)` with 16 blocks of 64 threads over 1024 words.
struct ByHand {
  emulator::GlobalMemory memory;
  emulator::Program program;
  std::vector<std::byte> x = std::vector<std::byte>(4096, std::byte{1}), y = std::vector<std::byte>(4096);
  emulator::Launch launch;
  emulator::Crew crew{3};

  explicit ByHand(const std::string& body) {
    program = emulator::decode(emulator::parse_ptx(R"(.version 8.8
.target sm_90a
.address_size 64
.visible .entry k(.param .u64 x, .param .u64 y)
{
.reg .b32 %r<8>; .reg .b64 %d<8>;
ld.param.u64 %d1, [x]; ld.param.u64 %d2, [y]; mov.u32 %r1, %ctaid.x; mov.u32 %r2, %tid.x; mad.lo.u32 %r1, %r1, 64, %r2;
mad.wide.u32 %d3, %r1, 4, %d1; mad.wide.u32 %d4, %r1, 4, %d2; ld.global.u32 %r3, [%d3];
)" + body + "\nret;\n}")
                                   .value(),
                               memory)
                  .value();
    const std::uint64_t at[2] = {memory.reserve(4096, 0), memory.reserve(4096, 0)};
    memory.add({at[0], 4096, x.data(), nullptr, false, "x"});
    memory.add({at[1], 4096, y.data(), nullptr, false, "y"});
    launch.program = &program;
    launch.kernel = program.find("k");
    launch.memory = &memory;
    launch.shape.grid = {16, 1, 1};
    launch.shape.block = {64, 1, 1};
    launch.params.resize(16);
    std::memcpy(launch.params.data(), at, 16);
    launch.step_budget = 1'000'000;
  }
};

TEST(SideBySide, IndependentBlocksAreReallySpread) {
  ByHand bench("st.global.u32 [%d4], %r3;");
  ASSERT_TRUE(emulator::run_side_by_side(bench.launch, bench.crew));
  EXPECT_EQ(bench.y, bench.x);
  EXPECT_EQ(bench.launch.counters.warp_instructions, 32u * 10);
  EXPECT_FALSE(bench.launch.kernel->entangled);
}

TEST(SideBySide, DependentBlocksChangeNothingAndAreRemembered) {
  for (const char* body :
       {"atom.global.add.u32 %r4, [%d2], 1;", "st.global.u32 [%d2], %r1;", "st.volatile.global.u32 [%d4], %r3;",
        "ld.global.u32 %r4, [%d4+256]; st.global.u32 [%d4], %r4;", "mov.u32 %r4, %clock; st.global.u32 [%d4], %r4;"}) {
    ByHand bench(body);
    if (std::string_view(body).find("+256") != std::string_view::npos) bench.launch.shape.grid = {15, 1, 1};
    EXPECT_FALSE(emulator::run_side_by_side(bench.launch, bench.crew)) << body;
    EXPECT_EQ(bench.y, std::vector<std::byte>(4096)) << body;
    EXPECT_EQ(bench.launch.counters.warp_instructions, 0u) << body;
    EXPECT_TRUE(bench.launch.kernel->entangled) << body;
  }
}

TEST(SideBySide, AFindingIsLeftToOneThread) {
  ByHand bench("st.global.u32 [%d4+64], %r3;");
  EXPECT_FALSE(emulator::run_side_by_side(bench.launch, bench.crew));
  EXPECT_EQ(bench.y, std::vector<std::byte>(4096));
}

TEST(Crew, CallsEveryNumberOnceEachTime) {
  emulator::Crew crew(4);
  for (int round = 0; round < 50; ++round) {
    std::array<std::atomic<int>, 4> calls{};
    crew.run([&](unsigned n) { ++calls[n]; });
    for (const auto& count : calls) EXPECT_EQ(count, 1);
  }
}

// While it lives, a thread's stack has 256 MiB and the address space has room for two of them and a half.
class FewThreads {
 public:
  FewThreads() {
    pthread_getattr_default_np(&before_);
    pthread_attr_t large;
    pthread_attr_init(&large);
    pthread_attr_setstacksize(&large, kStack);
    pthread_setattr_default_np(&large);
    pthread_attr_destroy(&large);
    getrlimit(RLIMIT_AS, &limit_);
    std::uint64_t pages = 0;
    std::ifstream("/proc/self/statm") >> pages;
    rlimit small = limit_;
    small.rlim_cur = pages * static_cast<std::uint64_t>(sysconf(_SC_PAGESIZE)) + kStack * 5 / 2;
    EXPECT_EQ(setrlimit(RLIMIT_AS, &small), 0);
  }
  ~FewThreads() {
    setrlimit(RLIMIT_AS, &limit_);
    pthread_setattr_default_np(&before_);
    pthread_attr_destroy(&before_);
  }

 private:
  static constexpr std::size_t kStack = std::size_t{256} << 20;
  pthread_attr_t before_{};
  rlimit limit_{};
};

TEST(Crew, GoesOnWithTheThreadsThatTheSystemGives) {
  emulator::Crew crew(8);
  std::array<std::atomic<int>, 8> calls{};
  auto called = [&] { return std::ranges::count_if(calls, [](const auto& count) { return count != 0; }); };
  {
    const FewThreads few;
    for (int round = 0; round < 3; ++round) crew.run([&](unsigned n) { ++calls[n]; });
    EXPECT_GE(called(), 2);
    EXPECT_LE(called(), 3);
    EXPECT_EQ(calls[0], 3);
    EXPECT_EQ(calls[1], 3);
  }
  crew.run([&](unsigned n) { ++calls[n]; });
  EXPECT_EQ(called(), 8);
  EXPECT_EQ(calls[0], 4);
  EXPECT_EQ(calls[7], 1);
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
