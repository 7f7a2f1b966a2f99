// SPDX-License-Identifier: Apache-2.0
// Registers that a function reads before it sets them hold what nobody can count on.
#include <algorithm>
#include <set>

#include "kernel_bench.h"

namespace kf::emulator_test {
namespace {

// k(out): 64 threads, each stores 8 bytes that `body` leaves in %d0; %t is the thread's number, %p0 says that it is
// odd.
std::string ptx_of(const std::string& body, const std::string& functions = "") {
  return ".version 8.8\n.target sm_90a\n.address_size 64\n" + functions +
         ".visible .entry k(.param .u64 out)\n{\n.reg .pred %p<4>; .reg .b16 %h<4>; .reg .b32 %r<4>, %t, %u; .reg .b64 "
         "%d<4>, %o; .reg .b128 %q;\nmov.u32 %t, %tid.x; ld.param.u64 %o, [out]; mad.wide.u32 %o, %t, 8, %o; and.b32 "
         "%u, %t, 1; setp.ne.u32 %p0, %u, 0;\n" +
         body + "\nst.global.b64 [%o], %d0; ret;\n}\n";
}
std::vector<std::uint64_t> run(KernelBench& bench) {
  const int out = bench.allocate(64 * 8);
  EXPECT_EQ(fault_of(bench.pointer(out).launch("k", {{1}, {64}})), "");
  return bench.read<std::uint64_t>(out, 64);
}
std::vector<std::uint64_t> even(const std::vector<std::uint64_t>& all) {
  std::vector<std::uint64_t> some;
  for (std::size_t n = 0; n < all.size(); n += 2) some.push_back(all[n]);
  return some;
}

class SetOnOnePath : public testing::TestWithParam<const char*> {};

TEST_P(SetOnOnePath, DiffersBetweenThreadsAndLaunches) {
  KernelBench bench(ptx_of(GetParam()));
  const auto first = run(bench), second = run(bench);
  for (std::size_t n = 1; n < first.size(); n += 2) ASSERT_EQ(first[n], 5u) << n;  // these threads have set it
  const auto values = even(first);
  const std::size_t kinds = std::set(values.begin(), values.end()).size();
  EXPECT_GT(kinds, 20u);
  EXPECT_LT(std::ranges::count(values, 0u), 16);
  EXPECT_NE(values, even(second));
}

INSTANTIATE_TEST_SUITE_P(
    Unset, SetOnOnePath,
    testing::Values("@%p0 mov.b64 %d0, 5;", "@%p0 mov.b32 %r0, 5; cvt.u64.u32 %d0, %r0;",
                    "@%p0 mov.b16 %h0, 5; cvt.u64.u16 %d0, %h0;", "@%p0 bra A; bra B;\nA: mov.b64 %d0, 5;\nB:",
                    "mov.b64 %d1, 0; @%p0 mov.b64 %d3, 5; @%p0 mov.b128 %q, {%d3, %d1}; mov.b128 {%d0, %d2}, %q;",
                    // One bit a step, of a predicate for each; set to 101.
                    "mov.u32 %r0, 0;\nL: add.u32 %r0, %r0, 1; setp.lt.u32 %p1, %r0, 3; @%p1 bra L; @!%p0 bra B;\n"
                    "A: mov.b64 %d0, 5;\nB: mov.b64 %d1, %d0; mov.b64 %d0, %d1;"));

TEST(Unset, PredicatesAreRandomToo) {
  KernelBench bench(ptx_of("@%p0 setp.ne.u32 %p1, %t, 0; selp.b64 %d0, 1, 0, %p1;"));
  const auto values = even(run(bench));
  EXPECT_GT(std::ranges::count(values, 1u), 4);
  EXPECT_GT(std::ranges::count(values, 0u), 4);
}

TEST(Unset, TheCarryIsRandomToo) {
  KernelBench bench(ptx_of("addc.u32 %r0, 0, 0; cvt.u64.u32 %d0, %r0;"));
  const auto values = run(bench);
  EXPECT_GT(std::ranges::count(values, 1u), 8);
  EXPECT_GT(std::ranges::count(values, 0u), 8);
}

constexpr const char* kKeeps =
    ".func (.param .b64 r) f(.param .b32 set)\n{\n.reg .pred %p; .reg .b32 %s; .reg .b64 %kept;\nld.param.b32 %s, "
    "[set]; setp.eq.u32 %p, %s, 0; @%p bra OUT; mov.b64 %kept, 7;\nOUT: st.param.b64 [r], %kept; ret;\n}\n";
std::string call(const char* set) {
  return std::string("{ .param .b32 a; .param .b64 b; mov.u32 %u, ") + set +
         "; st.param.b32 [a], %u; call (b), f, (a); ld.param.b64 %d0, [b]; }\n";
}

TEST(Unset, AFunctionDoesNotFindWhatItsLastCallLeft) {
  KernelBench set(ptx_of(call("1"), kKeeps));
  EXPECT_EQ(run(set), std::vector<std::uint64_t>(64, 7));
  KernelBench kept(ptx_of(call("1") + "@%p0 bra SKIP;\n" + call("0") + "SKIP:", kKeeps));
  const auto values = even(run(kept));
  EXPECT_EQ(std::ranges::count(values, 7u), 0);
  EXPECT_GT(std::set(values.begin(), values.end()).size(), 20u);
}

TEST(Unset, AValueThatIsNeverUsedDoesNoHarm) {
  // An address of nothing that is not loaded from, a quotient by nothing that is not selected, a loop that sets it
  // first.
  KernelBench bench(ptx_of(
      "add.u64 %d1, %d2, 16; rem.u32 %r2, %t, %r1; selp.u32 %r2, 3, %r2, %p0; @!%p0 mov.u32 %r2, 3; @!%p0 bra DONE;\n"
      "mov.u64 %d1, %o; st.global.b64 [%d1], %d0; ld.global.b64 %d3, [%d1];\nDONE: mov.u32 %r3, 0;\nL: setp.eq.u32 "
      "%p1, "
      "%r3, 0; @%p1 mov.u32 %r0, 1; add.u32 %r0, %r0, %r0; add.u32 %r3, %r3, 1; setp.lt.u32 %p1, %r3, 4; @%p1 bra L;\n"
      "add.u32 %r0, %r0, %r2; cvt.u64.u32 %d0, %r0;"));
  EXPECT_EQ(run(bench), std::vector<std::uint64_t>(64, 19));
}

TEST(Unset, IsTheSameForTheSameSeed) {
  const std::string ptx = ptx_of("@%p0 mov.b64 %d0, 5;");
  EmulatorOptions options;
  options.seed = 11;
  KernelBench one(ptx, options), two(ptx, options);
  EXPECT_EQ(run(one), run(two));
  EXPECT_EQ(run(one), run(two));
  options.seed = 12;
  KernelBench other(ptx, options);
  EXPECT_NE(run(other), run(one));
}

TEST(Unset, IsNotCounted) {
  const auto instructions = [](const std::string& body) {
    KernelBench bench(ptx_of(body));
    const int out = bench.allocate(64 * 8);
    return bench.pointer(out).counts("k", {{1}, {64}}).warp_instructions;
  };
  EXPECT_EQ(instructions("mov.b64 %d0, 5;"), instructions("@%p0 mov.b64 %d0, 5;"));
}

}  // namespace
}  // namespace kf::emulator_test
