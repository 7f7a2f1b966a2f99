// SPDX-License-Identifier: Apache-2.0
// What an estimate is made of, of kernels whose counts are known beforehand.
#include <gmock/gmock.h>

#include <kfactory/estimate.h>

#include "emulator/mix.h"
#include "kernel_bench.h"

namespace kf::emulator_test {
namespace {

// One block of 32 threads; `body` may use %r4 (thread), %d1, %d2 (buffers of 16 KiB), %d5 (its own 4 shared bytes'
// address).
std::string kernel(const std::string& body) {
  return R"(.version 8.8
.target sm_90a
.address_size 64
.visible .entry k(.param .u64 x, .param .u64 y)
{
.reg .pred %p<3>; .reg .b16 %h<4>; .reg .b32 %r<16>; .reg .f32 %f<16>; .reg .b64 %d<12>; .reg .f64 %e<4>;
.shared .align 16 .b8 s[8192];
ld.param.u64 %d1, [x]; ld.param.u64 %d2, [y]; mov.u32 %r4, %tid.x;
mul.wide.u32 %d3, %r4, 4; mov.u64 %d5, s; add.u64 %d6, %d5, %d3; mov.u32 %r1, 0; mov.f32 %f1, 0f3F800000;
)" + body +
         "\nret;\n}";
}

LaunchCounts counted(const std::string& body, unsigned threads = 1, Shape shape = {{1}, {32}}, double* ns = nullptr) {
  EmulatorOptions options;
  options.threads = threads;
  KernelBench bench(kernel(body), options);
  const int x = bench.buffer(std::vector<float>(4096, 1.0f)), y = bench.buffer(std::vector<float>(4096, 0.0f));
  return bench.pointer(x).pointer(y).counts("k", shape, ns);
}

TEST(Counts, NeighbouringWordsFillTheirSectors) {
  const LaunchCounts counts = counted("add.u64 %d7, %d1, %d3; ld.global.f32 %f2, [%d7];");
  EXPECT_EQ(counts.load_sectors, 4);  // 128 bytes
  EXPECT_EQ(counts.excess_load_sectors, 0);
  EXPECT_EQ(counts.store_sectors, 0);
  EXPECT_EQ(counts.global_requests, 1);
  EXPECT_EQ(counts.dram_bytes, 128);
}

TEST(Counts, StridedWordsTakeASectorEach) {
  const LaunchCounts counts = counted("mul.wide.u32 %d7, %r4, 128; add.u64 %d7, %d7, %d2; st.global.f32 [%d7], %f1;");
  EXPECT_EQ(counts.store_sectors, 32);
  EXPECT_EQ(counts.excess_store_sectors, 28);  // 128 bytes fit four
  EXPECT_EQ(counts.dram_bytes, 32 * 32);
}

TEST(Counts, ABroadcastIsOneSector) {
  const LaunchCounts counts = counted("ld.global.f32 %f2, [%d1]; ld.global.f32 %f3, [%d1];");
  EXPECT_EQ(counts.load_sectors, 2);
  EXPECT_EQ(counts.excess_load_sectors, 0);
  EXPECT_EQ(counts.dram_bytes, 32);  // the same one twice
}

TEST(Counts, AtomicsMoveSectorsToo) {
  const LaunchCounts counts = counted("add.u64 %d7, %d2, %d3; red.global.add.f32 [%d7], %f1;");
  EXPECT_EQ(counts.store_sectors, 4);
  EXPECT_EQ(counts.atomics, 32);
}

TEST(Counts, SharedWordsOfDifferentBanksAreOneWavefront) {
  const LaunchCounts counts = counted("st.shared.f32 [%d6], %f1; ld.shared.f32 %f2, [%d6];");
  EXPECT_EQ(counts.shared_requests, 2);
  EXPECT_EQ(counts.shared_wavefronts, 2);
  EXPECT_EQ(counts.bank_conflicts, 0);
}

TEST(Counts, AStrideOf128BytesIsA32WayBankConflict) {
  const LaunchCounts counts = counted("mul.wide.u32 %d7, %r4, 128; add.u64 %d7, %d7, %d5; st.shared.f32 [%d7], %f1;");
  EXPECT_EQ(counts.shared_wavefronts, 32);
  EXPECT_EQ(counts.bank_conflicts, 31);
}

TEST(Counts, AStrideOfEightBytesIsATwoWayConflictAndOneOfAColumnWithPaddingNone) {
  EXPECT_EQ(counted("mul.wide.u32 %d7, %r4, 8; add.u64 %d7, %d7, %d5; st.shared.f32 [%d7], %f1;").bank_conflicts, 1);
  EXPECT_EQ(counted("mul.wide.u32 %d7, %r4, 132; add.u64 %d7, %d7, %d5; st.shared.f32 [%d7], %f1;").bank_conflicts, 0);
}

TEST(Counts, SixteenBytesALaneAreFourWavefrontsWithoutConflicts) {
  const LaunchCounts counts =
      counted("mul.wide.u32 %d7, %r4, 16; add.u64 %d7, %d7, %d5; st.shared.v4.f32 [%d7], {%f1, %f1, %f1, %f1};");
  EXPECT_EQ(counts.shared_wavefronts, 4);
  EXPECT_EQ(counts.bank_conflicts, 0);
}

TEST(Counts, AsynchronousCopiesMoveSectorsAndWavefronts) {
  const LaunchCounts counts = counted(
      "mul.wide.u32 %d7, %r4, 16; add.u64 %d8, %d7, %d1; add.u64 %d7, %d7, %d5;"
      "cp.async.ca.shared.global [%d7], [%d8], 16; cp.async.wait_all;");
  EXPECT_EQ(counts.load_sectors, 16);  // 512 bytes
  EXPECT_EQ(counts.shared_wavefronts, 4);
}

TEST(Counts, TheMixNamesKindsOfInstructions) {
  const LaunchCounts counts = counted(
      "fma.rn.f32 %f2, %f1, %f1, %f1; mul.f32 %f3, %f2, %f1; setp.gt.f32 %p1, %f3, %f2; bar.sync 0; rcp.approx.f32 "
      "%f4, %f3; cvt.rzi.s32.f32 %r5, %f4;");
  EXPECT_EQ(counts.mix.at("fp32"), 2);
  EXPECT_EQ(counts.mix.at("compare"), 1);
  EXPECT_EQ(counts.mix.at("barrier"), 1);
  EXPECT_EQ(counts.mix.at("special"), 1);
  EXPECT_EQ(counts.mix.at("convert"), 1);
  EXPECT_EQ(counts.mix.at("load"), 2);  // parameters
  std::int64_t sum = 0;
  for (const auto& [kind, count] : counts.mix) sum += count;
  EXPECT_EQ(sum, counts.warp_instructions);
}

TEST(Counts, DoNotDependOnTheNumberOfThreads) {
  const std::string body =
      "mov.u32 %r6, %ctaid.x; mul.wide.u32 %d8, %r6, 256; add.u64 %d7, %d1, %d3; add.u64 %d7, %d7, %d8;"
      "ld.global.f32 %f2, [%d7]; st.shared.f32 [%d6], %f2; add.u64 %d9, %d2, %d8; add.u64 %d9, %d9, %d3;"
      "st.global.f32 [%d9], %f2;";
  double one = 0, four = 0;
  const LaunchCounts a = counted(body, 1, {{60}, {32}}, &one), b = counted(body, 4, {{60}, {32}}, &four);
  EXPECT_EQ(one, four);
  EXPECT_EQ(a.dram_bytes, b.dram_bytes);
  EXPECT_EQ(a.load_sectors, b.load_sectors);
  EXPECT_EQ(a.mix, b.mix);
  EXPECT_EQ(a.blocks, 60);
}

TEST(Mix, TellsTypesApart) {
  EXPECT_EQ(emulator::kind_of("fma.rn.f32"), "fp32");
  EXPECT_EQ(emulator::kind_of("add.f64"), "fp64");
  EXPECT_EQ(emulator::kind_of("fma.rn.bf16x2"), "fp16");
  EXPECT_EQ(emulator::kind_of("add.s32"), "integer");
  EXPECT_EQ(emulator::kind_of("mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32"), "tensor");
  EXPECT_EQ(emulator::kind_of("ret"), "control");
}

}  // namespace
}  // namespace kf::emulator_test
