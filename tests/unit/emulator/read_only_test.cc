// SPDX-License-Identifier: Apache-2.0
// ld.global.nc, which NVRTC makes of const __restrict__ and __ldg, of bytes that the launch writes.
#include <gmock/gmock.h>

#include "emulator/read_only.h"
#include "kernel_bench.h"

namespace kf::emulator_test {
namespace {

using testing::AllOf;
using testing::HasSubstr;

TEST(ReadOnlyBytes, KnowsTheLoadOfEachByteAcrossPages) {
  emulator::ReadOnlyBytes bytes;
  EXPECT_TRUE(bytes.empty());
  bytes.add(7, 4090, 16);
  bytes.add(9, 8192, 1);
  EXPECT_EQ(bytes.reader(4080, 10), std::nullopt);
  EXPECT_EQ(bytes.reader(4080, 11), 7u);
  EXPECT_EQ(bytes.reader(4105, 1), 7u);
  EXPECT_EQ(bytes.reader(4106, 4086), std::nullopt);
  EXPECT_EQ(bytes.reader(4106, 4087), 9u);
}

// `k(const float* x, float* y, float* in)`: y and in are the same buffer.
std::string found(const std::string& body, unsigned threads = 1, std::uint32_t grid = 2) {
  const auto ptx = compile_to_ptx(
      "extern \"C\" __global__ void k(const float* x, float* y, const float* __restrict__ in) {\n"
      "  const int i = blockIdx.x * blockDim.x + threadIdx.x, n = gridDim.x * blockDim.x;\n  " +
      body + "\n}");
  if (!ptx) return "no NVRTC";
  EmulatorOptions options;
  options.threads = threads;
  KernelBench bench(*ptx, options);
  const std::uint32_t block = 512;
  const int x = bench.buffer(std::vector<float>(grid * block, 1.0f)),
            y = bench.buffer(std::vector<float>(grid * block, 2.0f));
  return fault_of(bench.pointer(x).pointer(y).pointer(y).launch("k", {{grid}, {block}}));
}
#define KF_NEEDS_NVRTC() \
  if (!compile_to_ptx("")) return without_nvrtc()

TEST(NonCoherentLoad, OfWhatItsOwnThreadHasWrittenIsFound) {
  KF_NEEDS_NVRTC();
  EXPECT_THAT(found("y[i] = x[i];\n  y[i] += __ldg(y + i);"),
              AllOf(HasSubstr("kernel.cu:4 (ld.global.nc.f32)"), HasSubstr("through the non-coherent path"),
                    HasSubstr("wrote"), HasSubstr("must not change while the launch runs"), HasSubstr("kernel.cu:3")));
  EXPECT_EQ(found("y[i] = x[i]; y[i] += __ldg(x + i);"), "");
  EXPECT_EQ(found("y[i] = x[i]; y[i] += *(volatile float*)(y + i);"), "");
}

TEST(NonCoherentLoad, OfWhatIsWrittenLaterIsFoundWithBothLines) {
  KF_NEEDS_NVRTC();
  EXPECT_THAT(found("const float v = __ldg(y + i);\n  y[i] = v + 1;"),
              AllOf(HasSubstr("kernel.cu:4"), HasSubstr("writes byte"),
                    HasSubstr("kernel.cu:3 (ld.global.nc.f32) has read through the non-coherent path")));
}

TEST(NonCoherentLoad, OfWhatAnotherBlockWritesIsFoundWithAnyNumberOfThreads) {
  KF_NEEDS_NVRTC();
  for (const unsigned threads : {1u, 2u, 5u})
    EXPECT_THAT(found("if (blockIdx.x == 0) y[n - 1 - i] = x[i]; else if (x[i] > 5) y[0] = __ldg(y + i);\n"
                      "  else y[n - 1 - i] = __ldg(y + n - 1 - i);",
                      threads),
                HasSubstr("non-coherent path"))
        << threads;
}

TEST(NonCoherentLoad, OfTheRestOfABufferThatIsWrittenIsAllowedByteByByte) {
  KF_NEEDS_NVRTC();
  EXPECT_EQ(found("char* b = (char*)y; b[4 * i] = b[4 * i] = __ldg((const char*)y + 4 * i + 1);"), "");
}

TEST(NonCoherentLoad, AnInPlaceUpdateThroughRestrictIsFoundWhenTheCompilerBelievedIt) {
  KF_NEEDS_NVRTC();
  EXPECT_THAT(found("float v; asm volatile(\"ld.global.nc.f32 %0, [%1];\" : \"=f\"(v) : \"l\"(in + i)); y[i] = v;"),
              HasSubstr("non-coherent path"));
}

}  // namespace
}  // namespace kf::emulator_test
