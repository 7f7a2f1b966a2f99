// SPDX-License-Identifier: Apache-2.0
// Right kernels, and what becomes of them when one synchronising instruction or bounds check is taken away.
#pragma once
#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "kernel_bench.h"

namespace kf::emulator_test {

// k(const float* x, float* y, unsigned* z, int n): x holds small integers, so that sums are exact in any order; y has
// no values; z is 4096 zeros. BOUND(condition) marks a bounds check.
struct RightKernel {
  std::string name, source;
  Shape shape;
  int n = 1024;
  std::function<std::vector<float>(const std::vector<float>& x, int n)> expected;  // the first elements of y
  int inputs = 0;                                                                  // elements of x; 0: n
};
const std::vector<RightKernel>& right_kernels();
std::vector<RightKernel> more_right_kernels();  // part of them

struct Mutant {
  std::string what;   // "barrier", "fence", "wait", "mbarrier", "warp barrier", "mask", "order", "bounds check" ...
  std::string where;  // the instruction that was changed
  std::string ptx;
};
// One mutant for each place. Needs NVRTC.
std::vector<Mutant> mutants_of(const RightKernel& kernel);

// "" when the kernel runs without a finding and gives the expected values under the seed; else what was found.
std::string alarm(const RightKernel& kernel, const std::string& ptx, std::uint64_t seed);

}  // namespace kf::emulator_test
