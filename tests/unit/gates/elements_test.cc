// SPDX-License-Identifier: Apache-2.0
#include "gates/elements.h"

#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <limits>

#include "kernels/harness/host.h"

namespace kf {
namespace {

TEST(Encode, KnowsOneAndHalfInEveryType) {
  const std::pair<Dtype, std::pair<std::uint64_t, std::uint64_t>> rows[] = {
      {Dtype::kFloat64, {0x3FF0000000000000, 0x3FE0000000000000}},
      {Dtype::kFloat32, {0x3F800000, 0x3F000000}},
      {Dtype::kBfloat16, {0x3F80, 0x3F00}},
      {Dtype::kFloat16, {0x3C00, 0x3800}},
      {Dtype::kFloat8E4m3fn, {0x38, 0x30}},
      {Dtype::kFloat8E5m2, {0x3C, 0x38}},
      {Dtype::kFloat8E8m0, {127, 126}},
      {Dtype::kInt64, {1, 0}},
      {Dtype::kInt8, {1, 0}},
      {Dtype::kBool, {1, 1}}};
  for (const auto& [dtype, bits] : rows) {
    EXPECT_EQ(encode_element(1.0, dtype), bits.first) << to_string(dtype);
    EXPECT_EQ(encode_element(0.5, dtype), bits.second) << to_string(dtype);
  }
}

TEST(Encode, RoundsToNearestEvenAndKeepsSubnormals) {
  EXPECT_EQ(encode_element(1.0 + std::ldexp(1, -8), Dtype::kBfloat16), 0x3F80U);  // tie to even
  EXPECT_EQ(encode_element(1.0 + 3 * std::ldexp(1, -8), Dtype::kBfloat16), 0x3F82U);
  EXPECT_EQ(encode_element(2.0 - std::ldexp(1, -10), Dtype::kBfloat16), 0x4000U);  // carries into the next binade
  EXPECT_EQ(encode_element(std::ldexp(1, -24), Dtype::kFloat16), 1U);
  EXPECT_EQ(encode_element(std::ldexp(1, -26), Dtype::kFloat16), 0U);
  EXPECT_EQ(encode_element(-2.0, Dtype::kFloat16), 0xC000U);
}

TEST(Encode, ClampsIntegersAndOverflow) {
  EXPECT_EQ(encode_element(1e9, Dtype::kInt8), 127U);
  EXPECT_EQ(encode_element(-1e9, Dtype::kInt8), 0x80U);
  EXPECT_EQ(encode_element(-3, Dtype::kUint8), 0U);
  EXPECT_EQ(encode_element(1e9, Dtype::kFloat16), 0x7C00U);
  EXPECT_EQ(encode_element(1e9, Dtype::kFloat8E4m3fn), 0x7EU);
}

// Every float16 and bfloat16 pattern of a finite number, through the harness' own decoding by widening.
TEST(Encode, InvertsExactValues) {
  for (std::uint32_t bits = 0; bits < 0x7F80; ++bits) {
    const double value = std::bit_cast<float>(bits << 16);
    ASSERT_EQ(encode_element(value, Dtype::kBfloat16), bits);
    ASSERT_EQ(encode_element(-value, Dtype::kBfloat16), bits | 0x8000U);
  }
}

TEST(Elements, ComeBackFromTheirPlaces) {
  Tensor tensor;
  tensor.dtype = Dtype::kInt16;
  tensor.extent = {2, 3};
  tensor.stride = {1, 4};  // column-major with a gap
  Bytes span(static_cast<std::size_t>(tensor.span_bytes()), std::byte{0xEE});
  Bytes dense;
  for (int i = 0; i < 12; ++i) {
    dense.push_back(static_cast<std::byte>(i));
  }
  place_elements(dense, tensor, span);
  EXPECT_EQ(dense_elements(span, tensor), dense);
  EXPECT_EQ(span[8], std::byte{2});  // element (0, 1) lies 4 elements from the start
  EXPECT_EQ(span[4], std::byte{0xEE});
}

TEST(Elements, OfAScalarAreOne) {
  Tensor tensor;
  tensor.dtype = Dtype::kInt8;
  EXPECT_EQ(dense_elements(Bytes{std::byte{7}}, tensor), Bytes{std::byte{7}});
}

TEST(Decode, UndoesEncodeForEveryPatternOfNarrowTypes) {
  for (const Dtype dtype : {Dtype::kBfloat16, Dtype::kFloat16, Dtype::kFloat8E4m3fn, Dtype::kFloat8E5m2,
                            Dtype::kFloat8E8m0, Dtype::kInt16, Dtype::kInt8, Dtype::kUint8}) {
    for (std::uint64_t bits = 0; bits < std::uint64_t{1} << (8 * size_in_bytes(dtype)); ++bits) {
      const double value = decode_element(bits, dtype);
      if (std::isnan(value)) {
        continue;
      }
      ASSERT_EQ(encode_element(value, dtype), bits) << to_string(dtype) << " " << bits;
    }
  }
}

TEST(Decode, KnowsInfNanAndSigns) {
  EXPECT_EQ(decode_element(0x7F80, Dtype::kBfloat16), std::numeric_limits<double>::infinity());
  EXPECT_TRUE(std::isnan(decode_element(0x7FC0, Dtype::kBfloat16)));
  EXPECT_TRUE(std::isnan(decode_element(0x7F, Dtype::kFloat8E4m3fn)));
  EXPECT_EQ(decode_element(0x7E, Dtype::kFloat8E4m3fn), 448.0);
  EXPECT_EQ(decode_element(0xFF, Dtype::kInt8), -1.0);
  EXPECT_EQ(decode_element(0xFF, Dtype::kUint8), 255.0);
  EXPECT_EQ(encode_element(-std::numeric_limits<double>::infinity(), Dtype::kFloat16), 0xFC00U);
  EXPECT_EQ(encode_element(std::nan(""), Dtype::kBfloat16), 0x7FC0U);
}

TEST(UnitInLastPlace, IsThatOfTheBinadeAndNeverBelowTheSmallestSubnormal) {
  EXPECT_EQ(unit_in_last_place(1.0, Dtype::kFloat32), 0x1p-23);
  EXPECT_EQ(unit_in_last_place(-1.99, Dtype::kBfloat16), 0x1p-7);
  EXPECT_EQ(unit_in_last_place(0.0, Dtype::kFloat16), 0x1p-24);
  EXPECT_EQ(unit_in_last_place(7.0, Dtype::kInt32), 0.0);
}

}  // namespace
}  // namespace kf
