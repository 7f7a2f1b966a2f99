// SPDX-License-Identifier: Apache-2.0
// The shared memory of a cluster's peers is there from when they have started to when they exit.
#include <gmock/gmock.h>

#include "kernel_bench.h"

namespace kf::emulator_test {
namespace {

using testing::AnyOf;
using testing::HasSubstr;

// Two blocks of 32 threads. %own and %peer: 512 bytes of shared memory each, the lane's word first; %bar, %there: an
// mbarrier of each at 384 for 32 arrivals; %first is true in block 0. What each lane reads goes to %v.
std::string ptx_of(const std::string& body) {
  return ".version 8.8\n.target sm_90a\n.address_size 64\n.visible .entry k(.param .u64 in, .param .u64 "
         "out)\n{\n.shared "
         ".align 16 .b8 s[512]; .reg .pred %p<4>, %first; .reg .b32 %r<4>, %t, %s, %rank, %other, %own, %peer, %bar, "
         "%there, %v; .reg .b64 %d<4>, %in, %o, %state; .reg .b16 %h;\n"
         "mov.u32 %t, %tid.x; ld.param.u64 %in, [in]; ld.param.u64 %o, [out]; mov.u32 %rank, %cluster_ctarank; "
         "setp.eq.u32 %first, %rank, 0; xor.b32 %other, %rank, 1; mov.u32 %s, s; mad.lo.u32 %own, %t, 4, %s; "
         "mapa.shared::cluster.u32 %peer, %own, %other; add.u32 %bar, %s, 384; mapa.shared::cluster.u32 %there, %bar, "
         "%other; mov.u32 %v, 0; add.u32 %r0, %t, 100;\nst.shared.u32 [%own], %r0; setp.lt.u32 %p1, %t, 32; @%p1 "
         "st.shared.u32 [%own+256], 0; "
         "setp.eq.u32 %p0, %t, 0; @%p0 mbarrier.init.shared.b64 [%bar], 32; @%p0 "
         "fence.mbarrier_init.release.cluster; bar.sync 0;\n" +
         body +
         "\nmov.u32 %r1, %ctaid.x; mad.lo.u32 %r1, %r1, 32, %t; mad.wide.u32 %o, %r1, 4, %o; st.global.u32 [%o], %v; "
         "ret;\n}\n";
}

std::string fault(const std::string& body, std::uint64_t seed, std::vector<std::uint32_t>* out = nullptr) {
  EmulatorOptions options;
  options.seed = seed;
  KernelBench bench(ptx_of(body), options);
  const int in = bench.buffer(std::vector<std::uint32_t>(64, 7)), to = bench.allocate(64 * 4);
  const std::string found = fault_of(bench.pointer(in).pointer(to).launch("k", {{2}, {32}, {2}}));
  if (out != nullptr && found.empty()) *out = bench.read<std::uint32_t>(to, 64);
  return found;
}

const std::string kSync = "barrier.cluster.arrive.aligned; barrier.cluster.wait.aligned;\n";
const std::string kLoad = "ld.shared::cluster.u32 %v, [%peer];\n";
const std::string kArrive = "mbarrier.arrive.release.cluster.shared::cluster.b64 _, [%there];\n";
const std::string kWaitForArrivals =
    "W: mbarrier.try_wait.parity.acquire.cluster.shared::cta.b64 %p1, [%bar], 0; @!%p1 bra W;\n";
const std::string kExpect = "@%p0 mbarrier.expect_tx.relaxed.cta.shared::cta.b64 [%bar], 128;\n";
const std::string kExpectAndArrive = kExpect + "mbarrier.arrive.shared::cta.b64 %state, [%bar];\n";
const std::string kPush =
    "add.u32 %r2, %peer, 256; st.async.shared::cluster.mbarrier::complete_tx::bytes.u32 [%r2], %r0, [%there];\n";

// Each access, and what waits for it.
struct Way {
  const char* name;
  std::string before, access, order;
};
std::vector<Way> ways() {
  return {
      {"load", "", kLoad, kSync},
      {"generic load", "",
       "cvt.u64.u32 %d0, %own; cvta.shared.u64 %d0, %d0; mapa.u64 %d1, %d0, %other; ld.u32 %v, [%d1];\n", kSync},
      {"store", "", "st.shared::cluster.u32 [%peer+256], %r0;\n", kSync},
      {"atomic", "", "atom.shared::cluster.add.u32 %v, [%peer+256], 1;\n", kSync},
      {"red", "", "red.shared::cluster.add.u32 [%peer+256], 1;\n", kSync},
      {"arrival", "", kArrive, kWaitForArrivals},
      {"load and arrival", "", kLoad + kArrive, kWaitForArrivals},
      {"st.async", kExpectAndArrive, kPush, kWaitForArrivals},
      {"loads of one block", "", "@%first ld.shared::cluster.u32 %v, [%peer];\n",
       "barrier.cluster.arrive; @!%first barrier.cluster.wait;\n"},
      {"bulk copy", kExpectAndArrive,
       "add.u32 %r2, %peer, 256; fence.proxy.async; @%p0 "
       "cp.async.bulk.shared::cluster.shared::cta.mbarrier::complete_tx::bytes [%r2], [%s], 128, [%there];\n",
       kWaitForArrivals + kSync},
      {"multicast", kExpectAndArrive,
       "mov.u16 %h, 3; add.u32 %r2, %s, 256; setp.eq.and.u32 %p2, %t, 0, %first; @%p2 "
       "cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes.multicast::cluster [%r2], [%in], 128, "
       "[%bar], "
       "%h;\n",
       kWaitForArrivals},
  };
}

TEST(Peers, WhatIsOrderedBehindTheirStartAndBeforeTheirExitIsFine) {
  for (const Way& way : ways())
    for (std::uint64_t seed = 1; seed <= 8; ++seed)
      EXPECT_EQ(fault(way.before + kSync + way.access + way.order, seed), "") << way.name << ' ' << seed;
}

TEST(Peers, AnAccessBeforeTheyNeedHaveStartedIsFound) {
  for (const Way& way : ways())
    for (std::uint64_t seed = 1; seed <= 8; ++seed)
      EXPECT_THAT(fault(way.before + way.access + kSync + way.order, seed), HasSubstr("need not have started"))
          << way.name << ' ' << seed;
}

TEST(Peers, AnAccessThatTheyDoNotWaitForIsFound) {
  for (const Way& way : ways())
    for (std::uint64_t seed = 1; seed <= 8; ++seed)
      EXPECT_THAT(fault(way.before + kSync + way.access, seed),
                  AnyOf(HasSubstr("which may have exited"), HasSubstr("which has exited"),
                        HasSubstr("before the write has arrived"), HasSubstr("still reads its shared memory")))
          << way.name << ' ' << seed;
}

TEST(Peers, ABlockThatExitsWhileItsCopyIsReadIsFound) {
  int found = 0;
  for (const Way& way : ways())
    for (std::uint64_t seed = 1; seed <= 16 && std::string("bulk copy") == way.name; ++seed) {
      const std::string text = fault(way.before + kSync + way.access + kWaitForArrivals, seed);
      found += text.find("still reads its shared memory") != std::string::npos;
      EXPECT_THAT(text, AnyOf("", HasSubstr("still reads its shared memory"))) << seed;
    }
  EXPECT_GT(found, 2);
}

TEST(Peers, AnArrivalThatNobodyWaitsForOrdersNothing) {
  for (std::uint64_t seed = 1; seed <= 8; ++seed) {
    EXPECT_THAT(fault("barrier.cluster.arrive;\n" + kLoad + "barrier.cluster.wait;\n" + kSync, seed),
                HasSubstr("need not have started"))
        << seed;
    EXPECT_THAT(fault(kSync + kLoad + "barrier.cluster.arrive;\n", seed),
                AnyOf(HasSubstr("which may have exited"), HasSubstr("which has exited")))
        << seed;
  }
}

TEST(Peers, AnMbarrierOfTheBlockItselfSaysNothingOfPeers) {
  for (std::uint64_t seed = 1; seed <= 8; ++seed)
    EXPECT_THAT(fault("mbarrier.arrive.shared::cta.b64 %state, [%bar];\n" + kWaitForArrivals + kLoad + kSync, seed),
                HasSubstr("need not have started"))
        << seed;
}

TEST(Peers, AFlagInAPeersSharedMemoryIsAnOrder) {
  // Each block tells the other that it has read; a block that has seen it may exit.
  const std::string told =
      "bar.sync 0; @%p0 st.release.cluster.shared::cluster.u32 [%peer+256], 1;\nF: ld.acquire.cluster.shared.u32 %r2, "
      "[%s+256]; setp.eq.u32 %p1, %r2, 0; @%p1 bra F;\n";
  std::vector<std::uint32_t> out;
  for (std::uint64_t seed = 1; seed <= 8; ++seed) {
    ASSERT_EQ(fault(kSync + kLoad + told, seed, &out), "") << seed;
    for (std::size_t n = 0; n < out.size(); ++n) ASSERT_EQ(out[n], n % 32 + 100);
  }
}

// Block 1 says in global memory that it has started.
const std::string kStartedByFlag =
    "setp.eq.and.u32 %p2, %t, 0, !%first; @%p2 st.release.gpu.global.u32 [%in], 9;\n@!%first bra G;\nL: "
    "ld.acquire.gpu.global.u32 %r2, [%in]; "
    "setp.ne.u32 %p1, %r2, 9; @%p1 bra L;\n@%first ld.shared::cluster.u32 %v, [%peer];\nG:\n";

TEST(Peers, AFlagInGlobalMemoryIsAnOrder) {
  for (std::uint64_t seed = 1; seed <= 8; ++seed) EXPECT_EQ(fault(kStartedByFlag + kSync, seed), "") << seed;
}

TEST(Peers, LaunchesThatAreCountedKnowNoOrder) {
  KernelBench bench(ptx_of(kStartedByFlag + kSync));
  const int in = bench.buffer(std::vector<std::uint32_t>(64, 7)), to = bench.allocate(64 * 4);
  EXPECT_GT(bench.pointer(in).pointer(to).counts("k", {{2}, {32}, {2}}).warp_instructions, 100);
}

TEST(Peers, ACopyThatHasComeOrdersWhatOtherWarpsReadBefore) {
  // The warps of each block read the peer's words; then the first lane tells the peer so by st.async.
  const std::string ptx = ptx_of(
      "@%p0 mbarrier.inval.shared.b64 [%bar]; @%p0 mbarrier.init.shared.b64 [%bar], 1; @%p0 "
      "mbarrier.expect_tx.relaxed.cta.shared::cta.b64 [%bar], 4; @%p0 mbarrier.arrive.shared::cta.b64 %state, "
      "[%bar];\n" +
      kSync + kLoad + "bar.sync 0; mov.u32 %r0, 1; @!%p0 bra W;\nadd.u32 %r2, %peer, 320; " +
      "st.async.shared::cluster.mbarrier::complete_tx::bytes.u32 [%r2], %r0, [%there];\n" + kWaitForArrivals);
  for (std::uint64_t seed = 1; seed <= 8; ++seed) {
    EmulatorOptions options;
    options.seed = seed;
    KernelBench bench(ptx);
    const int in = bench.buffer(std::vector<std::uint32_t>(64, 7)), to = bench.allocate(128 * 4);
    EXPECT_EQ(fault_of(bench.pointer(in).pointer(to).launch("k", {{2}, {64}, {2}})), "") << seed;
  }
}

TEST(Peers, ABarrierOfTheClusterWaitsForThreadsThatExit) {
  for (std::uint64_t seed = 1; seed <= 8; ++seed)
    EXPECT_EQ(fault(kSync + "@!%first bra OUT;\n" + kLoad + "bra OVER;\nOUT: " + kSync + "OVER:", seed), "") << seed;
}

}  // namespace
}  // namespace kf::emulator_test
