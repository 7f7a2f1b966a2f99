// SPDX-License-Identifier: Apache-2.0
// Every barrier, fence, wait, mbarrier operation, mask, memory order and bounds check of right kernels is taken away
// in turn, moved, or made wrong (mutants.cc). A right kernel raises no alarm under any seed; a mutant should raise one
// in a default run.
#include <map>

#include "mutants.h"

namespace kf::emulator_test {
namespace {

constexpr std::uint64_t kSeeds = 3;  // launches of one default run

TEST(Mutants, NearlyAllAreCaughtAndNoRightKernelRaisesAnAlarm) {
  if (!compile_to_ptx("")) return without_nvrtc();
  std::map<std::string, std::pair<int, int>> table;  // kind: made, caught
  int made = 0, caught = 0;
  std::string survivors;
  for (const RightKernel& kernel : right_kernels()) {
    for (const Mutant& mutant : mutants_of(kernel)) {
      std::string found;
      for (std::uint64_t seed = 1; seed <= kSeeds && found.empty(); ++seed) found = alarm(kernel, mutant.ptx, seed);
      if (mutant.what == "none") {
        EXPECT_EQ(found, "") << kernel.name;
        continue;
      }
      auto& [of_kind, caught_of_kind] = table[mutant.what];
      ++made, ++of_kind;
      caught += !found.empty(), caught_of_kind += !found.empty();
      if (found.empty()) survivors += "\n  " + kernel.name + ": " + mutant.what + " " + mutant.where;
      if (std::getenv("KF_MUTANTS_VERBOSE") != nullptr)
        std::printf("%s | %s | %s | %s\n", kernel.name.c_str(), mutant.what.c_str(), mutant.where.c_str(),
                    found.c_str());
    }
  }
  for (const auto& [kind, counts] : table)
    RecordProperty(kind, std::to_string(counts.second) + " of " + std::to_string(counts.first));
  EXPECT_GE(right_kernels().size(), 25u);
  EXPECT_GE(made, 250);
  EXPECT_GE(caught * 100, made * 90) << caught << " of " << made << " caught; survivors:" << survivors;
  std::printf("%d of %d mutants of %zu kernels caught; survivors:%s\n", caught, made, right_kernels().size(),
              survivors.c_str());
}

TEST(Mutants, RightKernelsRaiseNoAlarmUnderManySeeds) {
  if (!compile_to_ptx("")) return without_nvrtc();
  for (const RightKernel& kernel : right_kernels()) {
    const std::string ptx = mutants_of(kernel).front().ptx;
    for (std::uint64_t seed = 1; seed <= 20; ++seed) ASSERT_EQ(alarm(kernel, ptx, seed), "") << kernel.name << seed;
  }
}

}  // namespace
}  // namespace kf::emulator_test
