// SPDX-License-Identifier: Apache-2.0
// Elements of one byte equal the poison by chance, and are not called unwritten for it.
#include "gates/unwritten.h"
#include "check_fixture.h"

namespace kf {
namespace {

using testing::HasSubstr;
using testing::Not;

// y is 60 x 64 int8 (rows of 80), 7 where it is right. `value` gives what a kernel writes; nullopt: nothing.
Verdict of_bytes(std::uint64_t seed, const std::function<std::optional<int>(int row, int column)>& value,
                 Dtype dtype = Dtype::kInt8) {
  fakes::HostDeviceOptions options = fakes::toy_device();
  options.kernels["reference"] = [](const fakes::HostLaunch& launch) -> OrFault<void> {
    std::fill_n(launch.pointer<double>(2), launch.scalar<int>(5) * launch.scalar<int>(6), 7.0);
    std::fill_n(launch.pointer<double>(3), launch.scalar<int>(5) * launch.scalar<int>(6), 1.0);
    return {};
  };
  options.kernels["bytes"] = [value](const fakes::HostLaunch& launch) -> OrFault<void> {
    for (int row = 0; row < launch.scalar<int>(4); ++row) {
      for (int column = 0; column < launch.scalar<int>(5); ++column) {
        if (const std::optional<int> written = value(row, column)) {
          launch.pointer<std::int8_t>(2)[row * launch.scalar<int>(6) + column] = static_cast<std::int8_t>(*written);
        }
      }
    }
    return {};
  };
  std::vector<Case> cases{fakes::toy_case(60, 64, 80)};
  for (Tensor& tensor : cases[0].tensors) {
    tensor.dtype = tensor.name == "y" ? dtype : tensor.dtype;
  }
  return verdict_of(fakes::toy_check("bytes", cases, {seed}), std::move(options));
}

TEST(Unwritten, BytesThatWereWrittenAreNotCalledSoByChance) {
  const auto spread = [](int row, int column) { return (row * 37 + column * 101) % 256 - 128; };
  const auto saturated = [](int row, int column) { return (row + column) % 2 == 0 ? 127 : -1; };  // half are poison
  const auto one = [](int row, int column) { return row == 9 && column == 13 ? 127 : 7; };
  for (std::uint64_t seed = 1; seed <= 12; ++seed) {
    for (const auto& written : {std::function<std::optional<int>(int, int)>(spread), {saturated}, {one}}) {
      const Verdict verdict = of_bytes(seed, written);
      EXPECT_EQ(verdict.reason, "mismatch") << seed;
      EXPECT_THAT(verdict.message, Not(HasSubstr("written"))) << seed;
      EXPECT_EQ(verdict.mismatch->unwritten, 0) << seed;
    }
  }
}

TEST(Unwritten, BytesThatNobodyWroteAreFoundAllTheSame) {
  for (std::uint64_t seed = 1; seed <= 12; ++seed) {
    const Verdict tail = of_bytes(
        seed, [](int row, int column) { return column >= 56 ? std::nullopt : std::optional(row < 100 ? 7 : 0); });
    EXPECT_EQ(tail.reason, "unwritten") << tail.message;
    EXPECT_THAT(tail.message, HasSubstr("columns 56 to 63 (of 64), all unwritten"));
    const Verdict few =
        of_bytes(seed, [](int row, int column) { return row == 59 && column >= 56 ? std::nullopt : std::optional(7); });
    EXPECT_EQ(few.reason, "unwritten") << few.message;
  }
}

TEST(Unwritten, RowsThatNobodyWroteAreToldFromWrongOnes) {
  for (std::uint64_t seed = 1; seed <= 12; ++seed) {
    const Verdict verdict =
        of_bytes(seed, [](int row, int column) { return row < 20 ? std::nullopt : std::optional(column % 120 + 8); });
    EXPECT_EQ(verdict.reason, "mismatch");
    EXPECT_THAT(verdict.message, HasSubstr(" unwritten"));
    EXPECT_GE(verdict.mismatch->unwritten, 20 * 64);
    EXPECT_LE(verdict.mismatch->unwritten, 20 * 64 + 40);
  }
}

TEST(Unwritten, WiderElementsNeedNoSecondThought) {
  Mismatch one;
  one.wrong = one.unwritten = 1;
  EXPECT_TRUE(really_unwritten(one, Dtype::kFloat32, 0));
  EXPECT_TRUE(really_unwritten(one, Dtype::kBfloat16, 0));
  EXPECT_FALSE(really_unwritten(one, Dtype::kInt16, 0));
  EXPECT_FALSE(really_unwritten(one, Dtype::kInt8, 0));
  one.unwritten = 0;
  EXPECT_FALSE(really_unwritten(one, Dtype::kFloat32, 0));
}

}  // namespace
}  // namespace kf
