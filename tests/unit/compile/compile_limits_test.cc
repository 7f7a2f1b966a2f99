// SPDX-License-Identifier: Apache-2.0
// What a source may take of its machine, and what happens when the processes that compile end otherwise.
#include <gtest/gtest.h>
#include <signal.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <thread>

#include "with_compiler.h"

namespace kf {
namespace {

using namespace std::chrono_literals;

class CompileLimitsTest : public WithCompiler {};

// A source whose compilation doubles with each level.
std::string doubling(int levels) {
  return "template <int N> struct A { static __device__ float f(float x) { return A<N - 1>::f(x + 1) * A<N - 1>::f(x * "
         "2); } };\n"
         "template <> struct A<0> { static __device__ float f(float x) { return x * x; } };\n"
         "extern \"C\" __global__ void k(float* y) { y[0] = A<" +
         std::to_string(levels) + ">::f(y[1]); }\n";
}
const std::string kSlow = doubling(10);  // some tenths of a second
const std::string kBomb = doubling(26);

TEST_F(CompileLimitsTest, EndsACompileBombAtItsLimitOfProcessorTime) {
  NvrtcSettings settings;
  settings.limits = {700ms, 60s};
  const auto compiler = open_test_compiler(settings);
  ASSERT_TRUE(compiler);
  const auto build = (*compiler)->compile(request(kBomb), {});
  ASSERT_FALSE(build);
  EXPECT_EQ(build.error().kind, BuildFailure::Kind::kTimeout);
  EXPECT_EQ(build.error().log, "compiling took more than 700 ms of processor time");
  EXPECT_TRUE((*compiler)->compile(request(kGood, {"FACTOR=2.0f"}), {}));  // the next one is unharmed
}

TEST_F(CompileLimitsTest, ACompilationThatWaitsForEverMeetsTheBoundOfWallTime) {
  NvrtcSettings settings;
  settings.limits = {60s, 300ms};
  const auto compiler = open_test_compiler(settings);
  ASSERT_TRUE(compiler);
  const auto build = (*compiler)->compile(request(kBomb), {});
  ASSERT_FALSE(build);
  EXPECT_EQ(build.error().kind, BuildFailure::Kind::kTimeout);
  EXPECT_EQ(build.error().log.find("compiling did not end within 300 ms (of processor time it had used "), 0U)
      << build.error().log;
  EXPECT_NE(build.error().log.find(" of 60000 ms)"), std::string::npos) << build.error().log;
}

TEST_F(CompileLimitsTest, StopsWhenAsked) {
  std::stop_source stop;
  std::jthread asker([&] { stop.request_stop(); });
  const auto build = compiler().compile(request(kBomb), stop.get_token());
  ASSERT_FALSE(build);
  EXPECT_EQ(build.error().log, "stopped before it was done");
}

#ifndef KF_SANITIZED
TEST_F(CompileLimitsTest, EndsMemoryBombsAtTheLimit) {
  NvrtcSettings settings;
  settings.address_space_bytes = 300ULL << 20;
  const auto compiler = open_test_compiler(settings);
  ASSERT_TRUE(compiler);
  for (const char* bomb :
       {"__device__ int a[1 << 28] = {1};\nextern \"C\" __global__ void k(int* y) { y[0] = a[y[1]]; }\n",
        "#define A(x) x x x x x x x x\n#define B(x) A(A(A(A(x))))\nextern \"C\" __global__ void k(int* y) { B(B(y[0] = "
        "y[1] * 3;)) }\n"}) {
    const auto build = (*compiler)->compile(request(bomb), {});
    ASSERT_FALSE(build);
    EXPECT_EQ(build.error().kind, BuildFailure::Kind::kMemory)
        << to_string(build.error().kind) << " " << build.error().log;
    EXPECT_FALSE(build.error().log.empty());
  }
  EXPECT_TRUE((*compiler)->compile(request(kGood, {"FACTOR=2.0f"}), {}));
}
#endif

// The newest process whose parent is `parent`; 0: none.
pid_t child_of(pid_t parent) {
  pid_t found = 0;
  for (const auto& entry : std::filesystem::directory_iterator("/proc")) {
    const std::string name = entry.path().filename();
    if (name.find_first_not_of("0123456789") == name.npos) {
      std::ifstream stat(entry.path() / "stat");
      std::string text((std::istreambuf_iterator<char>(stat)), {});
      const std::size_t close = text.rfind(')');
      int its_parent = 0;
      char state = 0;
      if (close != text.npos && std::sscanf(text.c_str() + close + 1, " %c %d", &state, &its_parent) == 2 &&
          its_parent == parent && state != 'Z') {
        found = std::max(found, static_cast<pid_t>(std::atoi(name.c_str())));
      }
    }
  }
  return found;
}

class Crashes : public WithCompiler {
 protected:
  void SetUp() override {
    WithCompiler::SetUp();
    auto zygote = Zygote::start({compiler().facts().library, compiler().facts().include_folders, testing::TempDir(),
                                 4ULL << 30, true, test_zygote_command()});
    ASSERT_TRUE(zygote);
    zygote_ = std::move(*zygote);
  }
  // Compiles the bomb, and kills the process that `choose` finds once it is there.
  std::expected<NvrtcOutput, CompileAccident> compile_and_kill(const std::function<pid_t()>& choose,
                                                               int signal = SIGKILL) {
    std::jthread killer([&](const std::stop_token& stop) {
      while (!stop.stop_requested()) {
        if (const pid_t victim = choose(); victim > 0) {
          ::kill(victim, signal);
          return;
        }
        std::this_thread::yield();
      }
    });
    return zygote_->compile({kBomb, "candidate.cu", {}, {"--gpu-architecture=sm_90a"}},
                            signal == SIGSTOP ? CompileLimits{60s, 2s} : CompileLimits{}, {});
  }
  pid_t worker() const {
    const pid_t minder = child_of(zygote_->pid());
    return minder > 0 ? child_of(minder) : 0;
  }
  // The worker, once it compiles: one that stands still between fork and its first step holds up its parent.
  pid_t busy_worker() const {
    const pid_t found = worker();
    std::ifstream stat("/proc/" + std::to_string(found) + "/stat");
    std::string text((std::istreambuf_iterator<char>(stat)), {});
    const std::size_t close = text.rfind(')');
    unsigned long ticks = 0;
    return close != text.npos &&
                   std::sscanf(text.c_str() + close + 1, " %*c %*d %*d %*d %*d %*d %*u %*u %*u %*u %*u %lu", &ticks) ==
                       1 &&
                   ticks >= 5
               ? found
               : 0;
  }
  std::unique_ptr<Zygote> zygote_;
};

#ifndef KF_SANITIZED
// Where there is a GPU, NVRTC's first compilation reserves 13 GB if it may: unlimited, the zygote would hand its
// workers more than they may have, and every larger source would be "out of memory".
TEST_F(Crashes, OrNotTheZygoteHasTheLimitOfItsWorkers) {
  std::ifstream limits("/proc/" + std::to_string(zygote_->pid()) + "/limits");
  const std::string text((std::istreambuf_iterator<char>(limits)), {});
  EXPECT_NE(text.find("Max address space         4294967296"), text.npos) << text;
}
#endif

// No folder for the worker, as on a full disk or with a wrong TMPDIR: that refuses nobody.
TEST_F(WithCompiler, ACompilationThatCannotBeginSaysNothingOfTheSource) {
  ASSERT_FALSE(std::filesystem::exists("/nonexistent"));
  auto zygote = Zygote::start({compiler().facts().library, compiler().facts().include_folders, "/nonexistent",
                               4ULL << 30, true, test_zygote_command()});
  ASSERT_TRUE(zygote);
  const auto output = (*zygote)->compile({"extern \"C\" __global__ void k() {}", "candidate.cu", {}, {}}, {}, {});
  ASSERT_FALSE(output);
  EXPECT_TRUE(output.error().never_began);
  EXPECT_TRUE(output.error().lost);

  NvrtcSettings settings;
  settings.scratch_folder = "/nonexistent";
  const auto lonely = open_test_compiler(settings);
  ASSERT_TRUE(lonely);
  try {
    (void)(*lonely)->compile(request("extern \"C\" __global__ void k() {}"), {});
    FAIL() << "it compiled, or was refused";
  } catch (const Fatal& fatal) {
    EXPECT_NE(std::string(fatal.what()).find("no fault of the source"), std::string::npos) << fatal.what();
  }
}

TEST_F(Crashes, OfTheWorkerIsTheCandidatesAndHarmsNoOne) {
  const auto output = compile_and_kill([this] { return worker(); }, SIGSEGV);
  ASSERT_FALSE(output);
  EXPECT_EQ(output.error().kind, BuildFailure::Kind::kCrash);
  EXPECT_FALSE(output.error().lost);
  EXPECT_EQ(output.error().detail, "the compiler ended with signal 11 (Segmentation fault)");
  EXPECT_TRUE(zygote_->compile(
      {"extern \"C\" __global__ void k() {}", "candidate.cu", {}, {"--gpu-architecture=sm_90a"}}, {}, {}));
}

TEST_F(Crashes, ByAKillFromOutsideAreNobodys) {
  const auto output = compile_and_kill([this] { return worker(); });
  ASSERT_FALSE(output);
  EXPECT_TRUE(output.error().lost);
  EXPECT_EQ(output.error().detail, "the compiler ended with signal 9 (Killed)");
}

TEST_F(Crashes, OfAWorkerThatWasStoppedFromOutsideAreNobodys) {
  const auto output = compile_and_kill([this] { return busy_worker(); }, SIGSTOP);
  ASSERT_FALSE(output);
  EXPECT_TRUE(output.error().lost);
  EXPECT_EQ(output.error().detail, "a signal from outside had stopped the compiler");
}

// Starved, as on a machine with too much to do: time passes, and the compiler gets none of it.
TEST_F(Crashes, AStarvedCompilationIsNotRefusedForTheTimeThatPasses) {
  bool starved = false;
  std::jthread starve([&](const std::stop_token& stop) {
    while (!stop.stop_requested() && !starved) {
      if (const pid_t victim = busy_worker(); victim > 0 && ::kill(victim, SIGSTOP) == 0) {
        std::this_thread::sleep_for(2500ms);
        starved = ::kill(victim, SIGCONT) == 0;
      }
      std::this_thread::yield();
    }
  });
  const auto output =
      zygote_->compile({kSlow, "candidate.cu", {}, {"--gpu-architecture=sm_90a"}}, CompileLimits{2000ms, 60s}, {});
  starve.request_stop();
  starve.join();
  ASSERT_TRUE(output) << output.error().detail;
  EXPECT_EQ(output->result, NVRTC_SUCCESS);
  EXPECT_TRUE(starved) << "it ended before it could be starved: the test shows nothing";
}

TEST_F(Crashes, OfTheMinderIsNobodysAndHarmsNoOne) {
  const auto output = compile_and_kill([this] { return child_of(zygote_->pid()); });
  ASSERT_FALSE(output);
  EXPECT_TRUE(output.error().lost);
  EXPECT_TRUE(zygote_->compile(
      {"extern \"C\" __global__ void k() {}", "candidate.cu", {}, {"--gpu-architecture=sm_90a"}}, {}, {}));
}

TEST_F(Crashes, OfTheZygoteEndEveryProcessBelowIt) {
  pid_t minder = 0, worker = 0;
  const auto output = compile_and_kill([&]() -> pid_t {
    minder = child_of(zygote_->pid());
    worker = minder > 0 ? child_of(minder) : 0;
    return worker > 0 ? zygote_->pid() : 0;
  });
  ASSERT_FALSE(output);
  EXPECT_TRUE(output.error().lost);
  for (int i = 0; i < 2000 && (::kill(worker, 0) == 0 || ::kill(minder, 0) == 0); ++i) {
    std::this_thread::sleep_for(1ms);
  }
  EXPECT_NE(::kill(worker, 0), 0);
  EXPECT_NE(::kill(minder, 0), 0);
}

TEST_F(CompileLimitsTest, StartsANewCompileProcessWhenTheOldOneVanished) {
  const auto compiler = open_test_compiler();
  ASSERT_TRUE(compiler);
  ASSERT_TRUE((*compiler)->compile(request(kGood, {"FACTOR=31.0f"}), {}));
  const pid_t zygote = child_of(::getpid());
  ::kill(zygote, SIGKILL);
  const auto build = (*compiler)->compile(request(kGood, {"FACTOR=32.0f"}), {});
  EXPECT_TRUE(build) << build.error().log;
}

TEST_F(CompileLimitsTest, LeavesNoScratchFoldersBehind) {
  const std::string scratch = testing::TempDir() + "kf_scratch_" + std::to_string(::getpid());
  std::filesystem::create_directories(scratch);
  NvrtcSettings settings;
  settings.scratch_folder = scratch;
  settings.limits.processor_time = 300ms;
  {
    const auto compiler = open_test_compiler(settings);
    ASSERT_TRUE(compiler);
    (void)(*compiler)->compile(request(kBomb), {});
  }
  EXPECT_TRUE(std::filesystem::is_empty(scratch));
  std::filesystem::remove_all(scratch);
}

}  // namespace
}  // namespace kf
