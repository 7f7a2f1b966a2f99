// SPDX-License-Identifier: Apache-2.0
#include "compile/ptx_module.h"

#include <gtest/gtest.h>
#include <kfactory/audit.h>

namespace kf {
namespace {

PtxModule read(const std::string& ptx) {
  OrError<PtxModule> module = read_ptx_module(ptx);
  EXPECT_TRUE(module) << to_string(module.error());
  return module ? std::move(*module) : PtxModule{};
}
std::string problem(const std::string& ptx) {
  const OrError<PtxModule> module = read_ptx_module(ptx);
  return module ? "" : to_string(module.error());
}
const std::string kHead = ".version 9.0\n.target sm_90a\n.address_size 64\n";

TEST(PtxModule, ReadsEntriesFunctionsAndInstructions) {
  const PtxModule module =
      read(kHead +
           ".extern .func (.param .b32 r) vprintf (.param .b64 a, .param .b64 b);\n"
           ".visible .entry k(.param .u64 k_param_0) .maxntid 128, 1, 1\n"
           "{ .reg .b32 %r<5>; .reg .pred %p<2>; .reg .b64 %rd<2>;\n"
           "  .loc 1 3 5, function_name $L__info_string0, inlined_at 1 8 3 mov.u32 %r1, %tid.x; // c\n"
           "  @!%p1 bra $L1;\n"
           "$L1: st.global.v2.u32 [%rd1+4], {%r1, %r2}; ret; }\n"
           ".section .debug_str { $L__info_string0: .b8 95,90\n }\n");
  ASSERT_EQ(module.functions.size(), 2U);
  EXPECT_FALSE(module.functions[0].defined);
  EXPECT_TRUE(module.functions[1].entry);
  ASSERT_EQ(module.functions[1].instructions.size(), 4U);
  EXPECT_EQ(module.functions[1].instructions[0].opcode, "mov.u32");  // .loc took no part of it
  const PtxInstruction& store = module.functions[1].instructions[2];
  EXPECT_TRUE(store.operands[0].memory);
  EXPECT_TRUE(store.operands[1].vector);
  EXPECT_EQ(store.operands[1].names.size(), 2U);
  EXPECT_TRUE(store.has("global") && store.has("u32") && !store.has("glob"));
}

TEST(PtxModule, KeepsNamesOfDifferentBlocksApart) {
  const PtxModule module = read(kHead +
                                ".entry k() { { .reg .b32 t; mov.u32 t, 1; } { .reg .b32 t; mov.u32 t, 2; }\n"
                                " { L: bra L; } { L: bra L; } }\n");
  const auto& code = module.functions[0].instructions;
  ASSERT_EQ(code.size(), 4U);
  EXPECT_NE(code[0].operands[0].names, code[1].operands[0].names);
  EXPECT_NE(code[2].operands[0].names, code[3].operands[0].names);
}

TEST(PtxModule, SeesEntriesThatUnbalancedBracesOpen) {
  const PtxModule module =
      read(kHead +
           ".entry k() { ret; } .visible .global .align 4 .u32 hid2; .visible .entry sneaky(.param .u64 p) { ret; }\n");
  ASSERT_EQ(module.functions.size(), 2U);
  EXPECT_EQ(module.functions[1].name, "sneaky");
}

TEST(PtxModule, RefusesNamesThatNothingDeclares) {
  EXPECT_NE(problem(kHead + ".entry k() { mov.u32 %r1, 1; }").find("`%r1`"), std::string::npos);
  EXPECT_NE(problem(kHead + ".entry k() { .reg .b32 %r<2>; mov.u32 %r2, 1; }").find("`%r2`"), std::string::npos);
  EXPECT_NE(problem(kHead + ".entry k() { .reg .b32 %r<2>; mov.u32 %r1, %newtimer; }").find("`%newtimer`"),
            std::string::npos);
}

TEST(PtxModule, RefusesLabelsNamedLikeAVariable) {
  EXPECT_NE(problem(kHead + ".global .u32 memo; .entry k() { { memo: st.global.u32 [memo], 1; } }").find("label"),
            std::string::npos);
}

TEST(PtxModule, RefusesTextThatIsNoPtx) {
  EXPECT_NE(problem("#define X\n"), "");
  EXPECT_NE(problem(kHead + ".entry k() {"), "");
  EXPECT_NE(problem(kHead + ".entry k() { ret "), "");
  EXPECT_NE(problem(kHead + "junk;"), "");
  EXPECT_NE(problem(kHead + "/* open"), "");
  EXPECT_NE(problem(kHead + ".entry k() { .reg .b32 r; mov.u32 r, ); }"), "");
}

TEST(PtxModule, RefusesTextsThatAreMadeToTakeLong) {
  std::string deep, many, dots = "%r1";
  for (int i = 0; i < 100'000; ++i) {
    deep += "{";
    many += ".reg .b32 a" + std::to_string(i) + "<2>; ";
    dots += ".x";
  }
  EXPECT_NE(problem(kHead + ".entry k() { " + deep).find("nested"), std::string::npos);
  EXPECT_NE(problem(kHead + ".entry k() { " + many + "}").find("ranges"), std::string::npos);
  EXPECT_NE(problem(kHead + ".entry k() { .reg .b32 %r<9>; mov.u32 " + dots + ", 1; }"), "");
}

TEST(PtxModule, SurvivesDamagedTexts) {
  const std::string good =
      kHead +
      ".global .align 8 .u64 t[2] = {generic(t), 5};\n.func (.param .b32 r) f(.param .b64 a) { ret; }\n"
      ".visible .entry k(.param .u64 p) .maxntid 32, 1, 1 { .reg .b64 %rd<4>; .loc 1 2 3 @%p1 bra L; L: { .param .b64 "
      "a; call (a), f, (a); } }\n";
  std::uint32_t random = 7;
  for (int i = 0; i < 20'000; ++i) {
    std::string damaged = good;
    for (int j = 0; j < 3; ++j) {
      random = random * 1664525 + 1013904223;
      const std::size_t at = (random >> 8) % damaged.size();
      const std::string_view pieces[] = {"{", "}", ";", "(", ")", "[", "<", ",", ":", ".x", "%", "=", "\"", "/*", ""};
      damaged.replace(at, random % 3, pieces[random % 15]);
    }
    (void)read_ptx_module(damaged);
  }
}

TEST(PtxHash, IgnoresNamesFormattingCommentsAndLines) {
  const std::string one =
      kHead +
      "\t.file\t1 \"a.cu\"\n.visible .entry k(.param .u64 k_param_0)\n{\n.reg .b64 %rd<3>;\n.loc 1 2 3\n"
      "ld.param.u64 %rd1, [k_param_0];\ncvta.to.global.u64 %rd2, %rd1;\n$L__BB0_1:\nbra $L__BB0_1;\n}\n";
  const std::string two =
      kHead +
      "\t.file\t1 \"b.cu\"\n.visible .entry other(.param .u64 other_param_0)\n{ .reg .b64 %rd<9>; /* x */\n"
      "ld.param.u64 %rd7, [other_param_0]; cvta.to.global.u64 %rd5, %rd7;\n$L__BB3_9: .loc 1 9 9\n bra $L__BB3_9;\n}\n";
  EXPECT_EQ(normalised_ptx_hash(one), normalised_ptx_hash(two));
}

TEST(PtxHash, SeesEveryChangeOfTheCode) {
  const auto hash = [](const std::string& code) {
    return normalised_ptx_hash(kHead + ".entry k(.param .u64 p) { .reg .b32 %r<9>; .reg .b64 %rd<9>; " + code + " }");
  };
  const std::string base = hash("mov.u32 %r1, 1; add.s32 %r2, %r1, %r1;");
  EXPECT_NE(hash("mov.u32 %r1, 2; add.s32 %r2, %r1, %r1;"), base);
  EXPECT_NE(hash("mov.u32 %r1, 1; sub.s32 %r2, %r1, %r1;"), base);
  EXPECT_NE(hash("mov.u32 %r1, 1; add.s32 %r1, %r1, %r1;"), base);
  EXPECT_NE(hash("mov.u32 %r1, %tid.x; add.s32 %r2, %r1, %r1;"), hash("mov.u32 %r1, %ctaid.x; add.s32 %r2, %r1, %r1;"));
  EXPECT_EQ(hash("mov.u32 %r3, 1; add.s32 %r4, %r3, %r3;"), base);
}

}  // namespace
}  // namespace kf
