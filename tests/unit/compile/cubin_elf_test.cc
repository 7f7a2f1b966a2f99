// SPDX-License-Identifier: Apache-2.0
#include "compile/cubin_elf.h"

#include <algorithm>

#include "with_compiler.h"

namespace kf {
namespace {

class CubinElf : public WithCompiler {
 protected:
  static constexpr const char* kSource =
      "__device__ float memo[4]; __constant__ float table[4];\n"
      "extern \"C\" __global__ void __launch_bounds__(192) k(float* x, int n) { memo[n] = table[n] + *x; }\n"
      "extern \"C\" __global__ void free_size(float* x) { x[threadIdx.x] *= 2; }\n";
};

TEST_F(CubinElf, GivesEntriesBoundsAndVariables) {
  for (const char* arch : {"sm_90a", "sm_100a"}) {
    const auto facts = read_cubin(built(kSource, arch).cubin);
    ASSERT_TRUE(facts) << to_string(facts.error());
    ASSERT_EQ(facts->entries.size(), 2U) << arch;
    const auto k = std::ranges::find(facts->entries, "k", &CubinEntry::name);
    ASSERT_NE(k, facts->entries.end());
    EXPECT_EQ(k->max_threads, 192) << arch;
    EXPECT_EQ(k->parameter_bytes, 12);
    EXPECT_GT(k->registers, 0);
    const auto variable = [&](const char* name) {
      return std::ranges::find(facts->variables, name, &CubinVariable::name);
    };
    ASSERT_NE(variable("memo"), facts->variables.end());
    EXPECT_EQ(variable("memo")->section, ".nv.global");
    ASSERT_NE(variable("table"), facts->variables.end());
    EXPECT_EQ(variable("table")->bytes, 16U);
    EXPECT_TRUE(facts->undefined.empty());
  }
}

TEST_F(CubinElf, NamesWhatALinkerWouldHaveToProvide) {
  const auto facts = read_cubin(built("extern \"C\" __global__ void k(float** x) { *x = (float*)malloc(4); }").cubin);
  ASSERT_TRUE(facts);
  EXPECT_EQ(facts->undefined, std::vector<std::string>{"malloc"});
}

TEST_F(CubinElf, SurvivesEveryTruncationAndManyDamages) {
  const Bytes cubin = built(kSource).cubin;
  for (std::size_t size = 0; size < cubin.size(); size += 7) {
    (void)read_cubin(std::span(cubin).first(size));
  }
  std::uint32_t random = 12345;
  for (int i = 0; i < 3000; ++i) {
    Bytes damaged = cubin;
    for (int j = 0; j < 4; ++j) {
      random = random * 1664525 + 1013904223;
      damaged[random % damaged.size()] = static_cast<std::byte>(random >> 24);
    }
    (void)read_cubin(damaged);
  }
}

TEST(CubinFile, RefusesOtherFiles) {
  EXPECT_FALSE(read_cubin({}));
  const Bytes zeros(1000);
  EXPECT_FALSE(read_cubin(zeros));
}

}  // namespace
}  // namespace kf
