// SPDX-License-Identifier: Apache-2.0
#include "emulator/ptx.h"

#include <gmock/gmock.h>

#include "emulator/floating.h"
#include "emulator/program.h"

namespace kf::emulator {
namespace {

constexpr const char* kHead = ".version 8.8\n.target sm_90a\n.address_size 64\n";

TEST(Parser, RegistersOfAFamilyAndOfInnerScopesAreDifferent) {
  const auto module = parse_ptx(std::string(kHead) +
                                ".visible .entry k() { .reg .b32 %r<3>; mov.u32 %r1, 1; { .reg .b32 %r1; mov.u32 %r1, "
                                "2; } mov.u32 %r1, 3; ret; }");
  ASSERT_TRUE(module) << to_string(module.error());
  const auto& code = module->functions[0].instructions;
  EXPECT_EQ(code[0].operands[0].index, code[2].operands[0].index);
  EXPECT_NE(code[0].operands[0].index, code[1].operands[0].index);
}

TEST(Parser, LabelsOfTwoScopesMayShareAName) {
  const auto module = parse_ptx(std::string(kHead) + ".visible .entry k() { { bra L; L: } { bra L; L: ret; } }");
  ASSERT_TRUE(module) << to_string(module.error());
  const auto& function = module->functions[0];
  EXPECT_EQ(function.label_at[static_cast<std::size_t>(function.instructions[0].operands[0].index)], 1);
  EXPECT_EQ(function.label_at[static_cast<std::size_t>(function.instructions[1].operands[0].index)], 2);
}

TEST(Parser, LineInformationReachesInstructions) {
  const auto module = parse_ptx(
      std::string(kHead) +
      ".file 1 \"a/b.cu\"\n.visible .entry k() {\n.loc 1 17 3, function_name $L__info0, inlined_at 1 4 5\nret; }");
  ASSERT_TRUE(module) << to_string(module.error());
  EXPECT_EQ(module->functions[0].instructions[0].where.line, 17);
  EXPECT_EQ(module->files[1], "a/b.cu");
}

TEST(Parser, NumbersInEveryForm) {
  const auto module =
      parse_ptx(std::string(kHead) +
                ".visible .entry k() { .reg .b64 %d; mov.b64 %d, 0x1F; mov.b64 %d, 0b101; mov.b64 %d, 017; mov.b64 %d, "
                "-3; mov.b64 %d, 0d3FF0000000000000; mov.b64 %d, 0f3F800000; mov.b64 %d, 42U; mov.f64 %d, 2.5; }");
  ASSERT_TRUE(module) << to_string(module.error());
  std::vector<std::uint64_t> bits;
  for (const auto& i : module->functions[0].instructions) bits.push_back(i.operands[1].bits);
  EXPECT_THAT(
      bits, testing::ElementsAre(31, 5, 15, std::uint64_t(-3), 0x3ff0000000000000, 0x3f800000, 42, 0x4004000000000000));
}

TEST(Parser, BrokenTextIsAnErrorWithItsLine) {
  for (const char* text : {"garbage", ".version", ".visible .entry k( {", ".visible .entry k() { add.s32 %r1 %r2; }",
                           ".visible .entry k() { .reg .b32 %r<999999999>; }", ".global .align 3 .b8 x[4];",
                           ".visible .entry k() { @%p bra L; }", ".global .b8 x[99999999999];", "\xff\xfe",
                           ".visible .entry k() { .reg .b8 %r; }", "{{{{{{"}) {
    const auto module = parse_ptx(text);
    ASSERT_FALSE(module) << text;
    EXPECT_THAT(module.error().where, testing::HasSubstr("PTX line")) << text;
  }
}

TEST(Parser, EveryPrefixAndEveryMissingCharacterOfAModuleIsSafe) {
  const std::string text =
      std::string(kHead) +
      ".global .align 4 .b8 t[8] = {1, 2, 3, 4};\n.func (.param .b32 r) f(.param .b32 a) { .reg .b32 %r<4>; "
      "ld.param.b32 %r1, [a]; st.param.b32 [r+0], %r1; ret; }\n"
      ".visible .entry k(.param .u64 p) { .reg .pred %p<2>; .reg .b32 %r<5>; .reg .b64 %d<3>; ld.param.u64 %d1, [p]; "
      "setp.lt.s32 %p1|%p0, %r1, 5; @!%p1 bra L; { .param .b32 x; .param .b32 y; st.param.b32 [x], %r1; call.uni (y), "
      "f, (x); } L: ld.global.v2.b32 {%r2, %r3}, [%d1+8]; ret; }";
  for (std::size_t n = 0; n < text.size(); ++n) {
    GlobalMemory memory;
    for (std::string changed : {text.substr(0, n), std::string(text).erase(n, 1), std::string(text).insert(n, 1, '{'),
                                std::string(text).replace(n, 1, "9")})
      if (const auto module = parse_ptx(changed)) static_cast<void>(decode(*module, memory));
  }
}

TEST(Decoder, FunctionsThatReachThemselvesAreReentrantOthersAreNot) {
  const auto module = parse_ptx(std::string(kHead) +
                                ".func g(); .func h() { ret; } .func f() { call g; call h; ret; } .func g() { call f; "
                                "ret; } .visible .entry k() { "
                                "call f; ret; }");
  ASSERT_TRUE(module);
  GlobalMemory memory;
  const auto program = decode(*module, memory);
  ASSERT_TRUE(program);
  EXPECT_TRUE(program->unsupported.empty());
  for (const Callable& callable : program->callables)
    EXPECT_EQ(callable.reentrant, callable.name == "f" || callable.name == "g") << callable.name;
}

TEST(Floating, HalfConversionsAgreeWithTheExactOnes) {
  for (std::uint32_t h = 0; h < 0x10000; ++h) {
    const float x = half_to_float(static_cast<std::uint16_t>(h));
    if (x != x) continue;
    ASSERT_EQ(static_cast<double>(x), Half::decode(h));
    ASSERT_EQ(float_to_half(x), h);
    const float between = x * 1.0003f;
    ASSERT_EQ(float_to_half(between), Half::encode(between)) << h;
  }
}

TEST(Floating, SmallFormatsRoundTripEveryValue) {
  for (std::uint32_t bits = 0; bits < 256; ++bits) {
    if (const double x = E4m3::decode(bits); x == x) {
      EXPECT_EQ(E4m3::encode(x), bits);
    }
    if (const double x = E5m2::decode(bits); x == x) {
      EXPECT_EQ(E5m2::encode(x), bits);
    }
  }
  EXPECT_EQ(E4m3::encode(1000.0, Round::kNearestEven, true), 0x7eu);
  EXPECT_EQ(E4m3::encode(1000.0), 0x7fu);
  EXPECT_EQ(E5m2::encode(1e9), 0x7cu);
}

}  // namespace
}  // namespace kf::emulator
