// SPDX-License-Identifier: Apache-2.0
// Launches that may run at the same time: which these are, and what they must not do to each other's memory.
#include <gmock/gmock.h>

#include "emulator/plan_order.h"
#include "kernel_bench.h"

namespace kf::emulator_test {
namespace {

using emulator::PlanOrder;
using emulator::Progress;
using testing::AllOf;
using testing::HasSubstr;
using testing::Not;

std::vector<Launch> plan(std::vector<std::vector<int>> after, std::vector<std::size_t> pdl = {}) {
  std::vector<Launch> launches(after.size());
  for (std::size_t n = 0; n < after.size(); ++n) launches[n].after = after[n];
  for (const std::size_t n : pdl) launches[n].flags.pdl = true;
  return launches;
}

TEST(PlanOrder, AChainWithoutPdlLeavesNothingToLookAt) {
  EXPECT_FALSE(PlanOrder::overlaps(plan({{}, {0}, {0, 1}})));
  EXPECT_TRUE(PlanOrder::overlaps(plan({{}, {0}, {0}})));
  EXPECT_TRUE(PlanOrder::overlaps(plan({{}, {}})));
  EXPECT_TRUE(PlanOrder::overlaps(plan({{}, {0}}, {1})));
}

TEST(PlanOrder, ALaunchIsOrderedAfterAllThatItComesAfterDirectlyOrNot) {
  const auto diamond = plan({{}, {0}, {0}, {1, 2}});
  PlanOrder order(diamond);
  for (std::size_t n = 0; n < 4; ++n) order.start(n), order.end(n, false, false);
  EXPECT_EQ(order.progress(2, 0, false), Progress::kDone);
  EXPECT_EQ(order.progress(2, 1, false), Progress::kNothing);
  for (std::size_t n = 0; n < 3; ++n) EXPECT_EQ(order.progress(3, n, false), Progress::kDone) << n;
}

TEST(PlanOrder, AProgrammaticLaunchHasItsPredecessorTriggeredBeforeItsWaitAndDoneBehindIt) {
  const auto chain = plan({{}, {0}, {1}}, {1});
  PlanOrder order(chain);
  for (std::size_t n = 0; n < 3; ++n) order.start(n), order.end(n, false, false);
  EXPECT_EQ(order.progress(1, 0, false), Progress::kTriggered);
  EXPECT_EQ(order.progress(1, 0, true), Progress::kDone);
  // The third is no programmatic launch: it waits for the whole chain, whether or not the second has.
  EXPECT_EQ(order.progress(2, 0, false), Progress::kDone);
}

TEST(PlanOrder, AWaitReachesBehindThePredecessorOnlyWhenThatHasWaitedItself) {
  const auto chain = plan({{}, {0}, {1}}, {1, 2});
  struct {
    bool waited, before_trigger;
    Progress early, late;
  } const cases[] = {{false, false, Progress::kTriggered, Progress::kTriggered},
                     {true, false, Progress::kTriggered, Progress::kDone},
                     {true, true, Progress::kDone, Progress::kDone}};
  for (const auto& one : cases) {
    PlanOrder order(chain);
    order.start(0), order.end(0, false, false);
    order.start(1), order.end(1, one.waited, one.before_trigger);
    order.start(2), order.end(2, true, false);
    EXPECT_EQ(order.progress(2, 0, false), one.early) << one.waited << one.before_trigger;
    EXPECT_EQ(order.progress(2, 0, true), one.late) << one.waited << one.before_trigger;
  }
}

// Kernels `a`, `b`, `c`, each k(float* x, float* y) with one block of 64 threads, over two buffers with values.
class Overlap {
 public:
  Overlap(const std::string& a, const std::string& b, const std::string& c = "") {
    const std::string head = "(float* x, float* y) {\n  const int i = threadIdx.x;\n  ";
    const auto ptx = compile_to_ptx(
        "#define TRIGGER asm volatile(\"griddepcontrol.launch_dependents;\" ::: \"memory\")\n"
        "#define WAIT asm volatile(\"griddepcontrol.wait;\" ::: \"memory\")\n"
        "extern \"C\" __global__ void a" +
        head + a + "\n}\n" + "extern \"C\" __global__ void b" + head + b + "\n}\n" + "extern \"C\" __global__ void c" +
        head + c + "\n}\n");
    if (!ptx) return;
    for (std::uint64_t seed = 1; seed <= 4; ++seed) {
      EmulatorOptions options;
      options.seed = seed;
      benches_.push_back(std::make_unique<KernelBench>(*ptx, options));
      for (int n = 0; n < 2; ++n) benches_.back()->buffer(std::vector<float>(64, 1.0f));
    }
  }
  Overlap& launch(const std::string& kernel, std::vector<int> after = {}, bool pdl = false) {
    for (auto& bench : benches_) bench->pointer(0).pointer(1).then(kernel, {{1}, {64}}, after, pdl);
    return *this;
  }
  // What is found; it must be found, or not, under every seed.
  std::string found() {
    std::vector<std::string> all;
    for (auto& bench : benches_) all.push_back(fault_of(bench->run()));
    for (const std::string& one : all) EXPECT_EQ(one.empty(), all[0].empty()) << one << all[0];
    return all.empty() ? "" : all[0];
  }

 private:
  std::vector<std::unique_ptr<KernelBench>> benches_;
};
#define KF_NEEDS_NVRTC() \
  if (!compile_to_ptx("")) return without_nvrtc()

TEST(UnorderedLaunches, OneThatReadsWhatAnotherWritesIsARaceThatNamesBothKernelsAndLines) {
  KF_NEEDS_NVRTC();
  Overlap two("x[i] = 2;", "y[i] = x[i];");
  EXPECT_THAT(two.launch("a").launch("b").found(),
              AllOf(HasSubstr("kernel b, kernel.cu:9"), HasSubstr("race between launches: reads byte "),
                    HasSubstr("launch a of kernel a writes at kernel.cu:5"), HasSubstr("of tensor 0"),
                    HasSubstr("\"after\" of launch b must name launch a")));
  EXPECT_EQ(two.launch("a").launch("b", {0}).found(), "");
}

TEST(UnorderedLaunches, OneThatWritesWhatAnotherReadsOrWritesIsARace) {
  KF_NEEDS_NVRTC();
  Overlap read("y[i] = x[i];", "x[i] = 2;"), write("x[i] = 1;", "x[i] = 2;");
  EXPECT_THAT(read.launch("a").launch("b").found(),
              AllOf(HasSubstr("writes byte"), HasSubstr("launch a of kernel a reads at kernel.cu:5")));
  EXPECT_THAT(write.launch("a").launch("b").found(), HasSubstr("launch a of kernel a writes at"));
  EXPECT_EQ(read.launch("a").launch("b", {0}).found(), "");
}

TEST(UnorderedLaunches, SharedInputsAndNeighbouringBytesAreNoRace) {
  KF_NEEDS_NVRTC();
  EXPECT_EQ(Overlap("y[i % 32] = x[i];", "y[32 + i % 32] = x[i];").launch("a").launch("b").found(), "");
  EXPECT_EQ(Overlap("((char*)y)[2 * i] = 1;", "((char*)y)[2 * i + 1] = 2;").launch("a").launch("b").found(), "");
}

TEST(UnorderedLaunches, AtomicsOfBothAreNoRaceAndOneWithAPlainReadIs) {
  KF_NEEDS_NVRTC();
  EXPECT_EQ(Overlap("atomicAdd(&x[i], 1.0f);", "atomicAdd(&x[i], 2.0f);").launch("a").launch("b").found(), "");
  EXPECT_THAT(Overlap("atomicAdd(&x[i], 1.0f);", "y[i] = x[i];").launch("a").launch("b").found(),
              HasSubstr("race between launches"));
}

TEST(UnorderedLaunches, BranchesOfADiamondThatShareScratchAreARaceAlthoughBothWaitForTheFirst) {
  KF_NEEDS_NVRTC();
  Overlap three("x[i] = 2;", "y[i] = x[i];", "y[i] += x[i];");
  EXPECT_THAT(three.launch("a").launch("b", {0}).launch("c", {0}).found(),
              AllOf(HasSubstr("kernel c"), HasSubstr("launch b of kernel b")));
  EXPECT_EQ(three.launch("a").launch("b", {0}).launch("c", {1}).found(), "");
}

TEST(DependentLaunch, WhatThePredecessorWritesIsTouchedOnlyBehindTheWait) {
  KF_NEEDS_NVRTC();
  for (const char* early : {"float v = x[i]; WAIT; y[i] = v;", "x[i] = 3; WAIT;", "y[i] = x[i];"}) {
    EXPECT_THAT(Overlap("x[i] = 2;", early).launch("a").launch("b", {0}, true).found(),
                AllOf(HasSubstr("launch a of kernel a writes at kernel.cu:5"), HasSubstr("griddepcontrol.wait")))
        << early;
    EXPECT_EQ(Overlap("x[i] = 2;", early).launch("a").launch("b", {0}).found(), "") << early;
  }
  EXPECT_EQ(Overlap("x[i] = 2;", "WAIT; y[i] = x[i]; x[i] = 4;").launch("a").launch("b", {0}, true).found(), "");
}

TEST(DependentLaunch, WhatThePredecessorReadsAfterItsTriggerIsNotWrittenBeforeTheWait) {
  KF_NEEDS_NVRTC();
  const auto found = [](const char* a, const char* b) {
    return Overlap(a, b).launch("a").launch("b", {0}, true).found();
  };
  EXPECT_THAT(found("TRIGGER; y[i] = x[i];", "x[i] = 3; WAIT;"),
              AllOf(HasSubstr("writes byte"), HasSubstr("launch a of kernel a reads at kernel.cu:5"),
                    HasSubstr("griddepcontrol.wait")));
  EXPECT_EQ(found("TRIGGER; y[i] = x[i];", "WAIT; x[i] = 3;"), "");
  // Without a trigger, or before it, the predecessor's reads are done when the dependent launch starts.
  EXPECT_EQ(found("y[i] = x[i];", "x[i] = 3; WAIT;"), "");
  EXPECT_EQ(found("y[i] = x[i]; __syncthreads(); TRIGGER;", "x[i] = 3; WAIT;"), "");
}

TEST(DependentLaunch, OneThreadMayWaitForABlockThatABarrierJoins) {
  KF_NEEDS_NVRTC();
  const auto found = [](const char* b) { return Overlap("x[i] = 2;", b).launch("a").launch("b", {0}, true).found(); };
  EXPECT_EQ(found("if (i == 0) WAIT; __syncthreads(); y[i] = x[i];"), "");
  EXPECT_THAT(found("if (i < 32) { WAIT; y[i] = x[i]; } else { y[i] = x[i]; }"), HasSubstr("has not met"));
}

TEST(DependentLaunch, AMiddleOneThatNeverWaitsLeavesTheFirstRunningForTheThird) {
  KF_NEEDS_NVRTC();
  const char* last = "WAIT; y[i] = x[i];";
  const auto chain = [&](const char* middle, const char* third) {
    return Overlap("x[i] = 2;", middle, third).launch("a").launch("b", {0}, true).launch("c", {1}, true).found();
  };
  EXPECT_THAT(chain("TRIGGER; y[i] = 1;", last),
              AllOf(HasSubstr("kernel c"), HasSubstr("launch a of kernel a"), HasSubstr("never executes")));
  EXPECT_EQ(chain("TRIGGER; y[i] = 1; WAIT;", last), "");
  // Before its wait, the third may read what the first wrote when the second has waited before it triggered.
  EXPECT_EQ(chain("WAIT; TRIGGER; if (i == 99) y[i] = 1;", "float v = x[i]; WAIT; y[i] = v;"), "");
  EXPECT_THAT(chain("TRIGGER; WAIT;", "float v = x[i]; WAIT; y[i] = v;"), HasSubstr("launch a of kernel a"));
}

TEST(DependentLaunch, AnOrdinaryLaunchWaitsForTheWholeChain) {
  KF_NEEDS_NVRTC();
  EXPECT_EQ(Overlap("x[i] = 2;", "if (i == 99) y[i] = 1;", "y[i] = x[i];")
                .launch("a")
                .launch("b", {0}, true)
                .launch("c", {1})
                .found(),
            "");
}

TEST(PlanOrder, APlanThatWaitsForALaterLaunchIsRefused) {
  KF_NEEDS_NVRTC();
  EXPECT_THAT(Overlap("x[i] = 2;", "y[i] = 1;").launch("a", {1}).launch("b").found(),
              HasSubstr("waits for launch 1, which is not an earlier one"));
}

}  // namespace
}  // namespace kf::emulator_test
