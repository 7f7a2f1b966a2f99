// SPDX-License-Identifier: Apache-2.0
#include <cmath>
#include <cstring>
#include <set>

#include "gtest/gtest.h"
#include "kernels/harness/host.h"

namespace kf::harness {
namespace {

struct Allocation {
  explicit Allocation(const BufferRequest& request) : at(place(request)), bytes(static_cast<std::size_t>(at.total)) {}
  std::span<std::byte> usable() { return std::span(bytes).subspan(at.front, at.bytes); }
  Placement at;
  Bytes bytes;
};

TEST(Poison, IsNanInEveryFloatType) {
  for (u64 word = 0; word < 20'000; ++word) {
    const u64 bits = poison_word(6, word);
    EXPECT_TRUE(std::isnan(decode(kF64, bits)));
    for (int half = 0; half < 2; ++half) {
      EXPECT_TRUE(std::isnan(decode(kF32, bits >> (32 * half) & 0xFFFFFFFF)));
    }
    for (int quarter = 0; quarter < 4; ++quarter) {
      const u64 code = bits >> (16 * quarter) & 0xFFFF;
      EXPECT_TRUE(std::isnan(decode(kBf16, code)));
      EXPECT_TRUE(std::isnan(decode(kF16, code)));
      EXPECT_TRUE(std::isnan(decode(kE4m3, code >> 8)));
      EXPECT_TRUE(std::isnan(decode(kE5m2, code >> 8)));
    }
  }
}

TEST(Poison, OfAnOddSeedIsLargeAndFiniteInEveryFloatType) {
  std::set<u64> quarters;
  bool negative = false, positive = false;
  for (u64 word = 0; word < 20'000; ++word) {
    const u64 bits = poison_word(7, word);
    const auto large = [](double value, double at_least) {
      return std::isfinite(value) && std::abs(value) >= at_least;
    };
    EXPECT_TRUE(large(decode(kF64, bits), 0x1p897));
    for (int half = 0; half < 2; ++half) {
      EXPECT_TRUE(large(decode(kF32, bits >> (32 * half) & 0xFFFFFFFF), 0x1p113));
    }
    for (int quarter = 0; quarter < 4; ++quarter) {
      const u64 code = bits >> (16 * quarter) & 0xFFFF;
      quarters.insert(code);
      EXPECT_TRUE(large(decode(kBf16, code), 0x1p113));
      EXPECT_TRUE(large(decode(kF16, code), 0x1p15));
      EXPECT_TRUE(large(decode(kE4m3, code >> 8), 256));
      EXPECT_TRUE(large(decode(kE5m2, code >> 8), 0x1p15));
      (code & 0x8000 ? negative : positive) = true;
    }
  }
  EXPECT_EQ(quarters.size(), 2048u);
  EXPECT_TRUE(negative && positive);
}

TEST(Poison, HasRandomPayloadsThatChangeWithTheSeed) {
  std::set<u64> quarters;
  int same = 0;
  for (u64 word = 0; word < 2'000; ++word) {
    quarters.insert(poison_word(4, word) & 0xFFFF);
    same += (poison_word(4, word) & 0xFFFF) == (poison_word(2, word) & 0xFFFF);
  }
  EXPECT_GT(quarters.size(), 240u);  // of 2 x 127
  EXPECT_LT(same, 40);
}

TEST(Poison, ReadsTheSameByBytesAndByWords) {
  Allocation memory({1000, 4});
  poison(memory.bytes, 77);
  for (std::size_t i = 0; i < memory.bytes.size(); ++i) {
    ASSERT_EQ(static_cast<u64>(memory.bytes[i]), poison_at(77, i, 1)) << i;
  }
  u32 four;
  std::memcpy(&four, memory.bytes.data() + 516, 4);
  EXPECT_EQ(four, poison_at(77, 516, 4));
}

TEST(Poison, KeepsItsValues) {
  EXPECT_EQ(poison_word(0x0123456789ABCDEEull, 12'345), 18444914351063039954ull);
  EXPECT_EQ(poison_word(0x0123456789ABCDEFull, 12'345), 17904756128961395246ull);
}

TEST(Placement, KeepsMisalignmentAndRedZones) {
  for (const std::int64_t misalign : {0, 2, 16, 254}) {
    for (const std::int64_t bytes : {0, 1, 255, 256, 4096}) {
      const Placement at = place({bytes, misalign});
      EXPECT_EQ(at.front % 256, misalign);
      EXPECT_GE(at.front, 256);
      EXPECT_GE(at.total - at.front - at.bytes, 256);
      EXPECT_EQ(at.total % 256, 0);
    }
  }
}

TEST(RedZone, SeesOneChangedByteOnEitherSide) {
  Allocation memory({1001, 8});
  poison(memory.bytes, 3);
  EXPECT_EQ(red_zone_damage(memory.bytes, memory.at, 3), 0);
  std::ranges::fill(memory.usable(), std::byte{0});
  EXPECT_EQ(red_zone_damage(memory.bytes, memory.at, 3), 0);
  memory.bytes[static_cast<std::size_t>(memory.at.front) - 1] ^= std::byte{1};
  memory.bytes[static_cast<std::size_t>(memory.at.front + memory.at.bytes)] ^= std::byte{1};
  EXPECT_EQ(red_zone_damage(memory.bytes, memory.at, 3), 2);
}

TEST(Padding, CountsBytesThatBelongToNoElement) {
  Tensor tensor{.name = "y", .dtype = Dtype::kFloat16, .extent = {4, 5}, .stride = {8, 1}};
  Allocation memory({tensor.span_bytes() + 10, 0});
  poison(memory.bytes, 3);
  ASSERT_TRUE(fill(memory.usable(), tensor, {"normal", 1}));
  EXPECT_EQ(padding_damage(memory.bytes, memory.at, tensor, 3), 0);
  memory.usable()[2 * 6] ^= std::byte{1};                                          // row 0, column 6
  memory.usable()[static_cast<std::size_t>(tensor.span_bytes())] ^= std::byte{1};  // past the last element
  EXPECT_EQ(padding_damage(memory.bytes, memory.at, tensor, 3), 2);
}

TEST(Padding, UnderstandsColumnMajorTensors) {
  Tensor tensor{.name = "y", .dtype = Dtype::kFloat32, .extent = {3, 4}, .stride = {1, 5}};
  Allocation memory({tensor.span_bytes(), 0});
  poison(memory.bytes, 3);
  ASSERT_TRUE(fill(memory.usable(), tensor, {"normal", 1}));
  EXPECT_EQ(padding_damage(memory.bytes, memory.at, tensor, 3), 0);
  memory.usable()[4 * 3] ^= std::byte{1};
  EXPECT_EQ(padding_damage(memory.bytes, memory.at, tensor, 3), 1);
}

TEST(Digest, ChangesWithAnyByteAndWithTheOrder) {
  Allocation memory({4096, 0});
  poison(memory.bytes, 1);
  const ContentDigest before = digest(memory.bytes);
  for (const std::size_t at : {0ul, 7ul, 300ul, memory.bytes.size() - 1}) {
    memory.bytes[at] ^= std::byte{0x10};
    EXPECT_NE(digest(memory.bytes), before) << at;
    memory.bytes[at] ^= std::byte{0x10};
  }
  EXPECT_EQ(digest(memory.bytes), before);
  std::swap_ranges(memory.bytes.begin(), memory.bytes.begin() + 8, memory.bytes.begin() + 8);
  EXPECT_NE(digest(memory.bytes), before);
}

TEST(Nonzero, CountsBytes) {
  Bytes memory(100);
  EXPECT_EQ(nonzero_bytes(memory), 0);
  memory[3] = memory[99] = std::byte{1};
  EXPECT_EQ(nonzero_bytes(memory), 2);
}

TEST(Differing, LooksAtElementsOnly) {
  Tensor tensor{.name = "y", .dtype = Dtype::kFloat32, .extent = {3, 2}, .stride = {4, 1}};
  Bytes a(static_cast<std::size_t>(tensor.span_bytes()));
  Bytes b = a;
  b[8] = std::byte{1};   // padding
  b[16] = std::byte{1};  // element (1, 0)
  b[17] = std::byte{1};  // the same
  EXPECT_EQ(differing_elements(a, b, tensor), 1);
}

}  // namespace
}  // namespace kf::harness
