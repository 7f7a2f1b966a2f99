// SPDX-License-Identifier: Apache-2.0
// Recursion, calls through pointers, stacks, assertions: results compared with the host's.
#include <gmock/gmock.h>

#include <numeric>

#include "kernel_bench.h"

namespace kf::emulator_test {
namespace {

using testing::AllOf;
using testing::HasSubstr;

constexpr int kThreads = 96;

// k(out): one int a thread.
std::vector<int> results(const std::string& ptx, std::string* fault = nullptr) {
  KernelBench bench(ptx);
  const int out = bench.allocate(4 * kThreads);
  const std::string found = fault_of(bench.pointer(out).launch("k", {{1}, {kThreads}}));
  if (fault != nullptr)
    *fault = found;
  else
    EXPECT_EQ(found, "");
  return found.empty() ? bench.read<int>(out, kThreads) : std::vector<int>(kThreads);
}

TEST(Calls, ARecursiveFunctionKeepsItsRegistersAndLocalArrays) {
  KF_COMPILE_OR_SKIP(ptx, R"(
    __device__ __noinline__ int walk(int n, int* above) {
      int mine[4]; for (int i = 0; i < 4; ++i) mine[i] = n * 10 + i + (above ? above[i] : 0);
      if (n <= 0) return mine[3];
      int a = walk(n - 1, mine), b = n > 2 ? walk(n - 3, mine) : 0;
      return a * 3 + b + mine[n & 3] + (above ? above[(n + 1) & 3] : 7);
    }
    extern "C" __global__ void k(int* out) { out[threadIdx.x] = walk(threadIdx.x % 9, nullptr); })");
  auto walk = [](auto& self, int n, const int* above) -> int {
    int mine[4];
    for (int i = 0; i < 4; ++i) mine[i] = n * 10 + i + (above != nullptr ? above[i] : 0);
    if (n <= 0) return mine[3];
    const int a = self(self, n - 1, mine), b = n > 2 ? self(self, n - 3, mine) : 0;
    return a * 3 + b + mine[n & 3] + (above != nullptr ? above[(n + 1) & 3] : 7);
  };
  const auto got = results(ptx);
  for (int t = 0; t < kThreads; ++t) EXPECT_EQ(got[t], walk(walk, t % 9, nullptr)) << t;
}

TEST(Calls, FunctionsThatCallEachOtherReturnToWhereTheyWereCalled) {
  KF_COMPILE_OR_SKIP(ptx, R"(
    __device__ __noinline__ int odd(int n);
    __device__ __noinline__ int even(int n) { return n == 0 ? 100 : odd(n - 1) + 1; }
    __device__ __noinline__ int odd(int n) { return n == 0 ? 200 : even(n - 1) + 2; }
    extern "C" __global__ void k(int* out) { int t = threadIdx.x; out[t] = t & 1 ? odd(t) : even(t % 7); })");
  const auto got = results(ptx);
  for (int t = 0; t < kThreads; ++t) {
    int n = t % 2 != 0 ? t : t % 7, sum = 0;
    bool is_odd = t % 2 != 0;
    for (; n > 0; --n, is_odd = !is_odd) sum += is_odd ? 2 : 1;
    EXPECT_EQ(got[t], sum + (is_odd ? 200 : 100)) << t;
  }
}

TEST(Calls, PointersToFunctionsAndVirtualFunctionsReachTheirTargets) {
  KF_COMPILE_OR_SKIP(ptx, R"(
    typedef int (*Op)(int, int);
    __device__ __noinline__ int add(int a, int b) { return a + b; }
    __device__ __noinline__ int mul(int a, int b) { return a * b; }
    __device__ __noinline__ int sub(int a, int b) { return a - b; }
    __device__ Op table[3] = {add, mul, sub};
    struct Shape { __device__ virtual int area(int s) const = 0; };
    struct Square : Shape { __device__ int area(int s) const override { return s * s; } };
    struct Strip : Shape { int w; __device__ Strip(int w) : w(w) {} __device__ int area(int s) const override { return s * w; } };
    extern "C" __global__ void k(int* out) {
      int t = threadIdx.x; Square q; Strip p(t + 1); const Shape* s = t % 2 ? (const Shape*)&q : (const Shape*)&p;
      out[t] = table[t % 3](t, 5) * 1000 + s->area(t % 11);
    })");
  const auto got = results(ptx);
  for (int t = 0; t < kThreads; ++t) {
    const int op = t % 3 == 0 ? t + 5 : t % 3 == 1 ? t * 5 : t - 5;
    EXPECT_EQ(got[t], op * 1000 + (t % 2 != 0 ? (t % 11) * (t % 11) : (t % 11) * (t + 1))) << t;
  }
}

TEST(Calls, ACallThroughAWildPointerIsAFinding) {
  KF_COMPILE_OR_SKIP(ptx, R"(
    extern "C" __global__ void k(int* out) { out[threadIdx.x] = ((int (*)(int))(size_t)(out))(3); })");
  std::string fault;
  results(ptx, &fault);
  EXPECT_THAT(fault, HasSubstr("the address of no function"));
}

TEST(Calls, RecursionWithoutEndExhaustsTheStack) {
  KF_COMPILE_OR_SKIP(ptx, R"(
    __device__ __noinline__ int deeper(int n, int* out) { int a[64]; for (int i = 0; i < 64; ++i) a[i] = n * i; out[0] = a[n & 63]; return deeper(n + 1, out) + a[(n + 5) & 63]; }
    extern "C" __global__ void k(int* out) { out[threadIdx.x] = deeper(1, out + threadIdx.x); })");
  std::string fault;
  results(ptx, &fault);
  EXPECT_THAT(fault, HasSubstr("the stack of a thread has 16384 bytes"));
}

TEST(Calls, AllocaGivesEachThreadRoomUntilItsFunctionReturns) {
  // Words t and 2 t at the ends of a room of 8 (t + 1) bytes; a hundred calls fit because each gives its room back.
  const std::string ptx = R"(.version 9.0
.target sm_90a
.address_size 64
.func (.param .b32 r) f(.param .b32 a)
{
  .reg .b32 %r<5>; .reg .b64 %d<5>;
  ld.param.b32 %r1, [a];
  add.u32 %r2, %r1, 1;
  mul.wide.u32 %d1, %r2, 8;
  alloca.u64 %d2, %d1, 16;
  add.u64 %d3, %d2, %d1;
  st.local.u32 [%d2], %r1;
  shl.b32 %r3, %r1, 1;
  st.local.u32 [%d3+-4], %r3;
  ld.local.u32 %r1, [%d2];
  ld.local.u32 %r2, [%d3+-4];
  add.u32 %r1, %r1, %r2;
  st.param.b32 [r], %r1;
  ret;
}
.visible .entry k(.param .u64 out)
{
  .reg .b32 %r<9>; .reg .b64 %d<5>; .reg .pred %p<2>;
  mov.u32 %r1, %tid.x;
  mov.u32 %r2, 0;
  mov.u32 %r3, 0;
LOOP:
  { .param .b32 x; .param .b32 y; st.param.b32 [x], %r1; call.uni (y), f, (x); ld.param.b32 %r4, [y]; }
  add.u32 %r3, %r3, %r4;
  add.u32 %r2, %r2, 1;
  setp.lt.u32 %p1, %r2, 100;
  @%p1 bra LOOP;
  ld.param.u64 %d1, [out];
  mad.wide.u32 %d1, %r1, 4, %d1;
  st.global.u32 [%d1], %r3;
  ret;
})";
  const auto got = results(ptx);
  for (int t = 0; t < kThreads; ++t) EXPECT_EQ(got[t], 300 * t) << t;
}

TEST(Calls, AFailedAssertionIsAFindingWithItsTextAndLine) {
  KF_COMPILE_OR_SKIP(
      ptx, R"(extern "C" __device__ void __assertfail(const char*, const char*, unsigned, const char*, size_t);
    extern "C" __global__ void k(int* out) { if (threadIdx.x >= 40) __assertfail("t < 40, too many threads", "here.cu", 12, "k", 1); out[threadIdx.x] = 1; })");
  std::string fault;
  results(ptx, &fault);
  EXPECT_THAT(fault, AllOf(HasSubstr("assertion failed: t < 40, too many threads at here.cu:12"),
                           HasSubstr("thread (40,0,0)")));
}

}  // namespace
}  // namespace kf::emulator_test
