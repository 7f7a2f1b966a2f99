// SPDX-License-Identifier: Apache-2.0
// Single values whose results are not what PTX's text makes one expect. They follow from what an H200 gave
// (h200_forms.txt); the NaN of `.oob` alone is in no recorded input.
#include <sstream>

#include "conformance_cases.h"
#include "kernel_bench.h"

namespace kf::emulator_test {
namespace {

struct Value {
  std::uint64_t a, b, c, want;
};

// "" or the values that come out otherwise.
std::string differences(const std::string& body, const std::vector<Value>& values) {
  KernelBench bench(conformance_ptx({"value", body}));
  std::vector<std::uint64_t> in;
  for (const Value& one : values) in.insert(in.end(), {one.a, one.b, one.c});
  const int from = bench.buffer(in), to = bench.allocate(static_cast<std::int64_t>(8 * values.size()));
  const Shape shape{{1}, {static_cast<std::uint32_t>(values.size())}};
  const auto result = bench.pointer(from).pointer(to).launch("k", shape);
  if (!result) return result.error().detail;
  const auto got = bench.read<std::uint64_t>(to, values.size());
  std::ostringstream text;
  for (std::size_t n = 0; n < values.size(); ++n)
    if (got[n] != values[n].want)
      text << std::hex << "\n"
           << body << " of " << values[n].a << " " << values[n].b << " " << values[n].c << ": " << got[n]
           << " instead of " << values[n].want;
  return text.str();
}

TEST(Values, AConversionThatNeedsNoRoundingMovesBits) {
  EXPECT_EQ(differences("cvt.f32.f32 %rd, %ra;", {{0xff80'0001, 0, 0, 0xff80'0001}, {0x8000'0001, 0, 0, 0x8000'0001}}),
            "");
  EXPECT_EQ(differences("cvt.ftz.f32.f32 %rd, %ra;", {{0xff80'0001, 0, 0, 0x7fff'ffff}, {0x8000'0001, 0, 0, 1u << 31}}),
            "");
  EXPECT_EQ(differences("cvt.f64.f64 %dd, %da;", {{0x7ff0'0000'0000'0001, 0, 0, 0x7ff0'0000'0000'0001}}), "");
  for (const std::string round : {"rn", "rz", "rm", "rp"}) {
    const std::vector<Value> values = {
        {0x7f81, 0, 0, 0x7f81'0000}, {0xffff, 0, 0, 0xffff'0000}, {0x8001, 0, 0, 0x8001'0000}};
    EXPECT_EQ(differences("cvt." + round + ".f32.bf16 %rd, %ha;", values), "");
    EXPECT_EQ(differences("cvt." + round + ".f32.bf16 %rd, %ra;", {{0x1234'7f81, 0, 0, 0x7f81'0000}}), "");
  }
  EXPECT_EQ(differences("cvt.rz.ftz.f32.bf16 %rd, %ha;", {{0x7f81, 0, 0, 0x7fff'ffff}, {0x8001, 0, 0, 1u << 31}}), "");
}

TEST(Values, ANegativeSubnormalSelectsAsZeroWithFtz) {
  const std::uint32_t tiny = 0x8000'0001, normal = 0x8080'0000, nan = 0x7fc0'0000;
  EXPECT_EQ(differences("slct.b32.f32 %rd, %ra, %rb, %rc;", {{1, 2, tiny, 2}, {1, 2, 1u << 31, 1}, {1, 2, nan, 2}}),
            "");
  EXPECT_EQ(differences("slct.ftz.b32.f32 %rd, %ra, %rb, %rc;",
                        {{1, 2, tiny, 1}, {1, 2, 1, 1}, {1, 2, normal, 2}, {1, 2, nan, 2}}),
            "");
  EXPECT_EQ(differences("slct.ftz.f32.f32 %rd, %ra, %rb, %rc;", {{tiny, 2, tiny, tiny}, {1, tiny, nan, tiny}}), "");
  EXPECT_EQ(differences("slct.ftz.u64.f32 %dd, %da, %db, %rc;", {{1, 2, tiny, 1}, {1, 2, normal, 2}}), "");
}

TEST(Values, ADoubleBecomesBf16InOneRoundingAndNanKeepsItsUpperBits) {
  EXPECT_EQ(differences("cvt.rn.bf16.f64 %hd, %da;", {{0x7ff0'0000'0000'0001, 0, 0, 0x7fc0},
                                                      {0xfff8'0000'0000'1234, 0, 0, 0xffc0},
                                                      {0xfff7'e000'0000'0000, 0, 0, 0xffff},
                                                      {0x7fef'ffff'ffff'ffff, 0, 0, 0x7f80},
                                                      {0x37a0'0000'0000'0000, 0, 0, 0x0001},
                                                      {0x3ff0'1000'0000'0001, 0, 0, 0x3f81},
                                                      {0x3ff0'1000'0000'0000, 0, 0, 0x3f80}}),
            "");
  EXPECT_EQ(differences("cvt.rz.bf16.f64 %hd, %da;", {{0x7fef'ffff'ffff'ffff, 0, 0, 0x7f7f}, {1, 0, 0, 0}}), "");
  EXPECT_EQ(differences("cvt.rm.bf16.f64 %hd, %da;", {{0x8000'0000'0000'0001, 0, 0, 0x8001}}), "");
}

TEST(Values, AnIntegerSaturatesToOneAsADouble) {
  const std::uint64_t one = 0x3ff0'0000'0000'0000;
  EXPECT_EQ(differences("cvt.rn.sat.f64.s32 %dd, %ra;", {{5, 0, 0, one}, {1, 0, 0, one}, {0xffff'fffb, 0, 0, 0}}), "");
  EXPECT_EQ(differences("cvt.rz.sat.f64.u64 %dd, %da;", {{~std::uint64_t{0}, 0, 0, one}, {0, 0, 0, 0}}), "");
}

TEST(Values, SubnormalsRoundIntoF16WithFtzToo) {
  const std::uint32_t tiny = 1, below = 0x8000'0001;
  EXPECT_EQ(differences("cvt.rp.ftz.f16.f32 %hd, %ra;", {{tiny, 0, 0, 1}, {below, 0, 0, 0x8000}}), "");
  EXPECT_EQ(differences("cvt.rm.ftz.f16.f32 %hd, %ra;", {{tiny, 0, 0, 0}, {below, 0, 0, 0x8001}}), "");
  EXPECT_EQ(differences("cvt.rp.ftz.sat.f16.f32 %hd, %ra;", {{tiny, 0, 0, 1}, {below, 0, 0, 0}}), "");
  EXPECT_EQ(differences("cvt.rn.ftz.f16.f32 %hd, %ra;", {{tiny, 0, 0, 0}, {below, 0, 0, 0x8000}}), "");
  EXPECT_EQ(differences("cvt.rp.ftz.bf16.f32 %hd, %ra;", {{tiny, 0, 0, 0}, {0x007f'ffff, 0, 0, 0}}), "");
}

TEST(Values, Tf32RoundedAwayIsArithmeticOnBits) {
  EXPECT_EQ(differences("cvt.rna.satfinite.tf32.f32 %rd, %ra;", {{0x3f80'1000, 0, 0, 0x3f80'2000},
                                                                 {0x7f80'0000, 0, 0, 0x7f7f'e000},
                                                                 {0xff80'0000, 0, 0, 0xff7f'e000},
                                                                 {0x7f7f'ffff, 0, 0, 0x7f7f'e000},
                                                                 {0x7fc0'0000, 0, 0, 0x7fbf'e000},
                                                                 {0x7f80'0001, 0, 0, 0x7f7f'e000}}),
            "");
  EXPECT_EQ(differences(
                "cvt.rna.tf32.f32 %rd, %ra;",
                {{0x3f80'1000, 0, 0, 0x3f80'2000}, {0x7f7f'ffff, 0, 0, 0x7f80'0000}, {0x7fc0'1fff, 0, 0, 0x7fc0'0000}}),
            "");
}

TEST(Values, OobTakesOneNanInAFactorForZero) {
  for (const std::string type : {"f16", "bf16"}) {
    const std::uint64_t one = type == "f16" ? 0x3c00 : 0x3f80;
    EXPECT_EQ(differences("fma.rn.oob." + type + " %hd, %ha, %hb, %hc;", {{0x7ff7, one, one, 0},
                                                                          {one, 0xfff7, one, 0},
                                                                          {0x7ff7, one, 0x7fff, 0},
                                                                          {one, one, 0x7ff7, 0x7fff},
                                                                          {0x7fff, one, one, 0x7fff},
                                                                          {one, 0xffff, one, 0x7fff}}),
              "");
    EXPECT_EQ(differences("fma.rn." + type + " %hd, %ha, %hb, %hc;", {{0x7ff7, one, one, 0x7fff}}), "");
    EXPECT_EQ(
        differences("fma.rn.oob.relu." + type + "x2 %rd, %ra, %rb, %rc;",
                    {{one << 16 | 0x7ff7, one << 16 | one, one, one << 16}, {0xffff'0000, one << 16, 0, 0x7fff'0000}}),
        "");
  }
}

TEST(Values, DirectedRoundingOfBf16FmaIsRefused) {
  for (const std::string form : {"fma.rz.bf16 %hd, %ha, %hb, %hc;", "fma.rp.oob.relu.bf16x2 %rd, %ra, %rb, %rc;"})
    EXPECT_NE(differences(form, {{}}).find("PTX has no directed rounding of bf16"), std::string::npos) << form;
}

}  // namespace
}  // namespace kf::emulator_test
