// SPDX-License-Identifier: Apache-2.0
#include "kernels/harness/numbers.cuh"

#include <cmath>
#include <limits>
#include <random>

#include "gtest/gtest.h"
#include "kernels/harness/philox.cuh"

namespace kf::harness {
namespace {

constexpr double kInf = std::numeric_limits<double>::infinity();

TEST(Philox, GivesThePublishedTestVectors) {
  const auto check = [](Words4 counter, u32 key0, u32 key1, Words4 wanted) {
    const Words4 found = philox_block(counter, key0, key1);
    EXPECT_EQ(found.x, wanted.x);
    EXPECT_EQ(found.y, wanted.y);
    EXPECT_EQ(found.z, wanted.z);
    EXPECT_EQ(found.w, wanted.w);
  };
  check({0, 0, 0, 0}, 0, 0, {0x6627e8d5, 0xe169c58d, 0xbc57ac4c, 0x9b00dbd8});
  check({~0u, ~0u, ~0u, ~0u}, ~0u, ~0u, {0x408f276d, 0x41c83b0e, 0xa20bc7c6, 0x6d5451fd});
  check({0x243f6a88, 0x85a308d3, 0x13198a2e, 0x03707344}, 0xa4093822, 0x299f31d0,
        {0xd16cfe09, 0x94fdcceb, 0x5001e420, 0x24126ea1});
}

TEST(Numbers, EveryNarrowFloatCodeSurvivesDecodeAndEncode) {
  for (const int type : {kBf16, kF16, kE4m3, kE5m2, kE8m0}) {
    for (u64 code = 0; code < 1ull << (8 * bytes_of(type)); ++code) {
      const double value = decode(type, code);
      if (std::isnan(value)) {
        EXPECT_TRUE(std::isnan(decode(type, encode(type, value)))) << type << " " << code;
      } else {
        EXPECT_EQ(encode(type, value), code) << "type " << type << ", value " << value;
      }
    }
  }
}

TEST(Numbers, Float32AgreesWithTheProcessorOnRandomBits) {
  std::mt19937_64 random(7);
  for (int i = 0; i < 300'000; ++i) {
    const double value = double_of(random());
    if (std::isnan(value)) {
      continue;
    }
    EXPECT_EQ(encode(kF32, value), __builtin_bit_cast(u32, static_cast<float>(value))) << value;
    const auto bits = static_cast<u32>(random());
    const auto single = __builtin_bit_cast(float, bits);
    if (!std::isnan(single)) {
      EXPECT_EQ(bits_of(decode(kF32, bits)), bits_of(static_cast<double>(single))) << bits;
    }
  }
}

TEST(Numbers, Float32AgreesWithTheProcessorNearSubnormals) {
  std::mt19937_64 random(11);
  std::uniform_int_distribution<int> exponent(-155, -120);
  for (int i = 0; i < 100'000; ++i) {
    const double value = std::ldexp(1.0 + static_cast<double>(random() >> 12) * 0x1p-52, exponent(random));
    EXPECT_EQ(encode(kF32, value), __builtin_bit_cast(u32, static_cast<float>(value))) << value;
  }
}

TEST(Numbers, HalfwayCasesGoToTheEvenCode) {
  EXPECT_EQ(decode(kBf16, encode(kBf16, 1.0 + 0x1p-8)), 1.0);
  EXPECT_EQ(decode(kBf16, encode(kBf16, 1.0 + 3 * 0x1p-8)), 1.0 + 4 * 0x1p-8);
  EXPECT_EQ(encode(kBf16, std::ldexp(1.0, -134)), 0u);  // half of the smallest subnormal
  EXPECT_EQ(encode(kBf16, std::ldexp(1.0000001, -134)), 1u);
}

TEST(Numbers, OverflowFollowsTheType) {
  EXPECT_EQ(decode(kF16, encode(kF16, 65519.999)), 65504.0);
  EXPECT_EQ(decode(kF16, encode(kF16, 65520.0)), kInf);
  EXPECT_EQ(decode(kE4m3, encode(kE4m3, 1e9)), 448.0);
  EXPECT_EQ(decode(kE5m2, encode(kE5m2, -1e9)), -57344.0);
  EXPECT_TRUE(std::isnan(decode(kE4m3, encode(kE4m3, kInf))));
  EXPECT_EQ(decode(kE5m2, encode(kE5m2, kInf)), kInf);
  EXPECT_EQ(overflow_threshold(kF16), 65520.0);
  EXPECT_EQ(overflow_threshold(kE4m3), 464.0);
  EXPECT_EQ(overflow_threshold(kF64), kInf);
}

TEST(Numbers, IntegersRoundToEvenAndClamp) {
  EXPECT_EQ(encode(kI8, 2.5), 2u);
  EXPECT_EQ(encode(kI8, 3.5), 4u);
  EXPECT_EQ(encode(kI8, -2.5), 0xFEu);
  EXPECT_EQ(encode(kI8, 1e30), 127u);
  EXPECT_EQ(encode(kI16, -1e30), 0x8000u);
  EXPECT_EQ(encode(kU8, -3.0), 0u);
  EXPECT_EQ(encode(kI64, 1e30), 0x7FFFFFFFFFFFFFFFull);
  EXPECT_EQ(encode(kI64, -1e30), 0x8000000000000000ull);
  EXPECT_EQ(encode(kI32, std::nan("")), 0u);
}

TEST(UnitInLastPlace, IsThatOfTheReferencesOwnBinade) {
  EXPECT_EQ(unit_in_last_place(kBf16, 1.0), 0x1p-7);
  EXPECT_EQ(unit_in_last_place(kBf16, std::nextafter(1.0, 0.0)), 0x1p-8);
  EXPECT_EQ(unit_in_last_place(kF32, -3.0), 0x1p-22);
  EXPECT_EQ(unit_in_last_place(kF64, 1.0), 0x1p-52);
}

TEST(UnitInLastPlace, IsTheSubnormalSpacingBelowTheSmallestNormal) {
  EXPECT_EQ(unit_in_last_place(kF16, 0.0), 0x1p-24);
  EXPECT_EQ(unit_in_last_place(kF16, 0x1p-20), 0x1p-24);
  EXPECT_EQ(unit_in_last_place(kF16, 0x1p-14), 0x1p-24);
  EXPECT_EQ(unit_in_last_place(kBf16, 1e-300), 0x1p-133);
  EXPECT_EQ(unit_in_last_place(kF64, 0.0), 0x1p-1074);
}

TEST(EncodeFloat, GivesWhatEncodeGives) {
  std::mt19937 random(7);
  for (int i = 0; i < 200'000; ++i) {
    const u32 exponent = 90 + static_cast<u32>(random() % 60);  // far into float16's subnormals, and where it overflows
    const float value = __builtin_bit_cast(float, (static_cast<u32>(random()) & 0x807FFFFFu) | exponent << 23);
    for (const int type : {kF32, kBf16, kF16}) {
      ASSERT_EQ(encode_float(type, value), encode(type, value)) << value << " as type " << type;
    }
  }
  for (const int type : {kF32, kBf16, kF16}) {
    EXPECT_EQ(encode_float(type, 0.0F), 0U);
    EXPECT_EQ(encode_float(type, 6.1035156e-5F), encode(type, 6.1035156e-5F));  // 2^-14
    EXPECT_EQ(encode_float(type, 6.1005e-5F), encode(type, 6.1005e-5F));        // rounds up to it
  }
}

}  // namespace
}  // namespace kf::harness
