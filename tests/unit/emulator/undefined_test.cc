// SPDX-License-Identifier: Apache-2.0
// Memory that nothing has written may be read; what is made of it must not decide anything.
#include <gmock/gmock.h>

#include "kernel_bench.h"

namespace kf::emulator_test {
namespace {

using testing::AllOf;
using testing::HasSubstr;

// k(x, y, z): 256 ones, 1024 bytes without values, 256 zeros.
std::string finding(const std::string& body, std::vector<float>* out = nullptr) {
  const auto ptx = compile_to_ptx(
      "#include <cuda_fp16.h>\nextern \"C\" __global__ void k(const float* x, float* y, int* z) { int t = "
      "threadIdx.x;\n" +
      body + "\n}");
  if (!ptx) return "no NVRTC";
  KernelBench bench(*ptx);
  const int x = bench.buffer(std::vector<float>(256, 1.0f)), y = bench.allocate(1024),
            z = bench.buffer(std::vector<int>(256));
  const std::string fault = fault_of(bench.pointer(x).pointer(y).pointer(z).launch("k", {{1}, {64}}));
  if (out != nullptr && fault.empty()) *out = bench.read<float>(y, 64);
  return fault;
}
#define KF_NEEDS_NVRTC() \
  if (!compile_to_ptx("")) return without_nvrtc()

TEST(Undefined, LanesOfAVectorThatAreDroppedRaiseNoAlarm) {
  KF_NEEDS_NVRTC();
  std::vector<float> out;
  EXPECT_EQ(
      finding("__shared__ float4 s[64]; s[t].x = x[t]; s[t].z = 2; __syncthreads(); volatile float4* v = s; (void)v;"
              "float4 q; asm volatile(\"ld.shared.v4.f32 {%0,%1,%2,%3}, [%4];\" : \"=f\"(q.x), \"=f\"(q.y), "
              "\"=f\"(q.z), \"=f\"(q.w) : \"r\"((unsigned)__cvta_generic_to_shared(s + (t ^ 1)))); y[t] = q.x + q.z;",
              &out),
      "");
  EXPECT_EQ(out, std::vector<float>(64, 3.0f));
}

TEST(Undefined, TheUpperHalfOfAPairMayBeAnything) {
  KF_NEEDS_NVRTC();
  EXPECT_EQ(
      finding("__shared__ __half s[128]; s[2 * t] = __float2half(x[t]); __syncthreads();"
              "__half2 h = *(const __half2*)(s + 2 * t); h = __hadd2(h, h); h = __hmul2(h, h); y[t] = __low2float(h);"),
      "");
}

TEST(Undefined, BytesThatAreMaskedOrShiftedAwayDoNotMatter) {
  KF_NEEDS_NVRTC();
  EXPECT_EQ(
      finding("__shared__ unsigned char s[256]; s[4 * t + 1] = 7; __syncthreads();"
              "unsigned v = *(const unsigned*)(s + 4 * t); y[t] = (v >> 8 & 255) + (float)(unsigned char)(v >> 8) + "
              "(__byte_perm(v, 0, 0x4441) > 3);"),
      "");
}

TEST(Undefined, ACopyOfAStructWithHolesIsFine) {
  KF_NEEDS_NVRTC();
  EXPECT_EQ(
      finding("struct S { int a; char c; long long d; }; __shared__ S s[64], r[64]; s[t].a = 1; s[t].c = 2; s[t].d = 3;"
              "__syncthreads(); r[t] = s[t ^ 1]; __syncthreads(); y[t] = r[t].a + r[t].c + (float)r[t].d;"),
      "");
}

TEST(Undefined, ABranchOnSuchAValueIsFoundAndNamesTheRead) {
  KF_NEEDS_NVRTC();
  EXPECT_THAT(
      finding("__shared__ int s[64]; if (t != 5) s[t] = t; __syncthreads();\nif (s[t] > 40) z[t] = 1;\n y[t] = 1;"),
      AllOf(HasSubstr("shared memory that nothing has written"), HasSubstr("read at kernel.cu:4"),
            HasSubstr("thread (5,0,0)")));
}

TEST(Undefined, AnAddressMadeOfSuchAValueIsFound) {
  KF_NEEDS_NVRTC();
  EXPECT_THAT(finding("__shared__ int s[64]; if (t != 7) s[t] = t; __syncthreads(); y[s[t] & 63] = 1;"),
              AllOf(HasSubstr("uses as an address"), HasSubstr("nothing has written")));
}

TEST(Undefined, AStoreToAnOutputIsFoundAfterArithmeticAndShuffles) {
  KF_NEEDS_NVRTC();
  EXPECT_THAT(finding("__shared__ float s[64]; if (t != 9) s[t] = t; __syncthreads(); float v = s[t] * 2 + 1;"
                      "v += __shfl_xor_sync(~0u, v, 1); y[t] = v;"),
              AllOf(HasSubstr("stores to tensor 1"), HasSubstr("nothing has written"), HasSubstr("thread (8,0,0)")));
  EXPECT_THAT(finding("y[t] += 1;"), AllOf(HasSubstr("global memory that nothing has written"), HasSubstr("tensor 1")));
}

TEST(Undefined, AnAtomicAndAVoteNeedValues) {
  KF_NEEDS_NVRTC();
  EXPECT_THAT(finding("__shared__ int s[64]; if (t) s[t] = t; __syncthreads(); atomicAdd(z, s[t]); y[t] = 1;"),
              HasSubstr("nothing has written"));
  EXPECT_THAT(finding("__shared__ int s[64]; if (t) s[t] = t; __syncthreads(); y[t] = __ballot_sync(~0u, s[t] > 3);"),
              HasSubstr("nothing has written"));
}

TEST(Undefined, MemoryThatSuchAValueIsStoredToStaysWithoutValue) {
  KF_NEEDS_NVRTC();
  EXPECT_EQ(
      finding("__shared__ float s[64], r[64]; if (t < 32) s[t] = 1; __syncthreads(); r[t] = s[t]; __syncthreads();"
              "y[t] = r[t & 31];"),
      "");
  EXPECT_THAT(
      finding("__shared__ float s[64], r[64]; if (t < 32) s[t] = 1; __syncthreads(); r[t] = s[t]; __syncthreads();"
              "y[t] = r[t];"),
      HasSubstr("nothing has written"));
}

}  // namespace
}  // namespace kf::emulator_test
