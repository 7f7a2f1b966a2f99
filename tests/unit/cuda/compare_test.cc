// SPDX-License-Identifier: Apache-2.0
#include <cmath>
#include <cstring>
#include <limits>

#include "gtest/gtest.h"
#include "kernels/harness/host.h"

namespace kf::harness {
namespace {

constexpr double kInf = std::numeric_limits<double>::infinity();
constexpr double kNan = std::numeric_limits<double>::quiet_NaN();

// An output whose elements are set one by one, over the poison of a seed.
struct Output {
  explicit Output(Tensor of, std::uint64_t poison_seed = 42)
      : tensor(std::move(of)), at(place({tensor.span_bytes(), 0})), seed(poison_seed) {
    memory.resize(static_cast<std::size_t>(at.total));
    poison(memory, seed);
    reference.assign(static_cast<std::size_t>(tensor.elements()), 0.0);
  }
  Output(Dtype dtype, std::vector<double> values, std::vector<double> wanted)
      : Output(
            Tensor{.name = "y", .dtype = dtype, .extent = {static_cast<std::int64_t>(values.size())}, .stride = {1}}) {
    for (std::size_t i = 0; i < values.size(); ++i) {
      set(static_cast<std::int64_t>(i), values[i]);
    }
    reference = std::move(wanted);
  }
  void set(std::int64_t index, double value) {
    const Layout layout = *layout_of(tensor);
    store_element(reinterpret_cast<u8*>(memory.data()) + at.front, offset_of(layout, index), layout.bytes,
                  encode(layout.type, value));
  }
  Mismatch judge(Bound bound) {
    CompareRequest request{.tensor = &tensor,
                           .has_condition = !condition.empty(),
                           .bound = std::move(bound),
                           .slice_dim = slice_dim,
                           .slice_first = slice_first,
                           .slice_extent = slice_extent,
                           .poison_seed = seed,
                           .nonfinite_unspecified = unspecified,
                           .only_unwritten = only_unwritten};
    return compare(plan_comparison(request, at).value(), memory, reference, condition);
  }
  Tensor tensor;
  Placement at;
  std::uint64_t seed = 42;
  Bytes memory;
  std::vector<double> reference, condition;
  int slice_dim = -1;
  std::int64_t slice_first = 0, slice_extent = 0;
  bool unspecified = false, only_unwritten = false;
};

TEST(Compare, PassesEqualValues) {
  Output out(Dtype::kFloat32, {1.0, -2.5, 0.0}, {1.0, -2.5, 0.0});
  const Mismatch found = out.judge({.ulp = 0.0});
  EXPECT_EQ(found.wrong, 0);
  EXPECT_EQ(found.elements, 3);
  EXPECT_EQ(found.worst_ratio, 0.0);
}

TEST(Compare, CountsInUnitsOfTheOutputType) {
  Output out(Dtype::kBfloat16, {1.0, 1.0 + 0x1p-7, 1.0 + 2 * 0x1p-7}, {1.0, 1.0, 1.0});
  EXPECT_EQ(out.judge({.ulp = 1.0}).wrong, 1);
  EXPECT_EQ(out.judge({.ulp = 2.0}).wrong, 0);
  const Mismatch found = out.judge({.ulp = 1.0});
  EXPECT_EQ(found.worst_index, std::vector<std::int64_t>{2});
  EXPECT_EQ(found.worst_ratio, 2.0);
  EXPECT_EQ(found.worst_bound, 0x1p-7);
}

TEST(Compare, AddsTheAccumulationTermOfTheCondition) {
  Output out(Dtype::kFloat32, {1.0}, {1.0 + 100.0 * 0x1p-24});
  EXPECT_EQ(out.judge({.ulp = 0.0, .acc = 2.0}).wrong, 1);
  out.condition = {1000.0};
  EXPECT_EQ(out.judge({.ulp = 0.0, .acc = 2.0}).wrong, 0);
  out.condition = {kInf};  // not usable: |reference| instead
  EXPECT_EQ(out.judge({.ulp = 0.0, .acc = 2.0}).wrong, 1);
}

TEST(Compare, JudgesClassesFirst) {
  Output out(Dtype::kFloat32, {kNan, kInf, -kInf, 1.0, kNan, 3.0}, {kNan, kInf, kInf, kNan, 2.0, kInf});
  const Mismatch found = out.judge({.ulp = 1e30});
  EXPECT_EQ(found.wrong, 4);
  EXPECT_EQ(found.class_errors, 4);
  EXPECT_EQ(found.worst_index, std::vector<std::int64_t>{2});
  EXPECT_EQ(found.worst_ratio, kInf);
}

TEST(Compare, DoesNotJudgeNonfiniteReferencesWhereTheSpecLeavesThemOpen) {
  Output out(Dtype::kFloat16, {1.0, 5.0, 3.0}, {kNan, 1e6, 3.0});
  EXPECT_EQ(out.judge({}).wrong, 2);
  out.unspecified = true;
  EXPECT_EQ(out.judge({}).wrong, 0);
}

TEST(Compare, TakesInfWhereTheReferenceRoundsToIt) {
  EXPECT_EQ(Output(Dtype::kFloat16, {kInf}, {70'000.0}).judge({}).wrong, 0);
  EXPECT_EQ(Output(Dtype::kFloat16, {-kInf}, {70'000.0}).judge({}).wrong, 1);
  EXPECT_EQ(Output(Dtype::kFloat16, {kInf}, {65'500.0}).judge({}).wrong, 0);  // within one unit of the threshold
  EXPECT_EQ(Output(Dtype::kFloat16, {kInf}, {60'000.0}).judge({}).wrong, 1);
  EXPECT_EQ(Output(Dtype::kFloat16, {65'504.0}, {65'530.0}).judge({}).wrong, 0);  // within one unit
}

TEST(Compare, LetsSaturatingTypesSaturate) {
  EXPECT_EQ(Output(Dtype::kFloat8E4m3fn, {448.0}, {1e5}).judge({}).wrong, 0);
  EXPECT_EQ(Output(Dtype::kFloat8E4m3fn, {-448.0}, {1e5}).judge({}).wrong, 1);
  EXPECT_EQ(Output(Dtype::kFloat8E4m3fn, {kNan}, {1e5}).judge({}).wrong, 0);
  EXPECT_EQ(Output(Dtype::kFloat8E5m2, {57344.0}, {1e5}).judge({}).wrong, 0);
  EXPECT_EQ(Output(Dtype::kFloat8E5m2, {kInf}, {1e5}).judge({}).wrong, 0);
  EXPECT_EQ(Output(Dtype::kFloat8E5m2, {kNan}, {1e5}).judge({}).wrong, 1);
}

TEST(Compare, WantsIntegersEqual) {
  Output out(Dtype::kInt32, {5.0, 6.0}, {5.0, 7.0});
  const Mismatch found = out.judge({.ulp = 100.0, .acc = 100.0});
  EXPECT_EQ(found.wrong, 1);
  EXPECT_EQ(found.worst_out, 6.0);
}

TEST(Compare, ARoundedReferenceIsAlwaysWithinHalfAUnit) {
  std::vector<double> wanted;
  std::vector<double> values;
  for (int i = 0; i < 4000; ++i) {
    wanted.push_back(std::ldexp(1.0 + i / 4096.0, i % 61 - 30));
    values.push_back(decode(kF16, encode(kF16, wanted.back())));
  }
  EXPECT_EQ(Output(Dtype::kFloat16, values, wanted).judge({.ulp = 0.5}).wrong, 0);
}

// NaN by an even seed, large finite values by an odd one.
TEST(Compare, RecognisesElementsThatWereNeverWritten) {
  for (const std::uint64_t seed : {42, 43}) {
    Output out(Tensor{.name = "y", .dtype = Dtype::kBfloat16, .extent = {4, 8}, .stride = {10, 1}}, seed);
    for (std::int64_t i = 0; i < 32; ++i) {
      if (i % 8 != 5 && i / 8 != 2) {
        out.set(i, 0.0);
      }
    }
    const Mismatch found = out.judge({});
    EXPECT_EQ(found.wrong, 11);
    EXPECT_EQ(found.unwritten, 11);
    EXPECT_EQ(found.class_errors, 0);
    EXPECT_EQ(found.wrong_rows, 4);
    EXPECT_EQ(found.rows, 4);
    EXPECT_EQ(found.wrong_columns, 8);
    EXPECT_EQ(found.columns, 8);
    EXPECT_EQ(found.first_index, (std::vector<std::int64_t>{0, 0}));
    EXPECT_EQ(found.last_index, (std::vector<std::int64_t>{3, 7}));
  }
}

TEST(Compare, FindsWhatNobodyWroteAmongWrongElements) {
  for (const std::uint64_t seed : {42, 43}) {
    Output out(Tensor{.name = "y", .dtype = Dtype::kFloat16, .extent = {10}, .stride = {1}}, seed);
    for (std::int64_t i = 0; i < 7; ++i) {
      out.set(i, i < 3 ? 5.0 : kNan);
    }
    const Mismatch wrong = out.judge({});
    EXPECT_EQ(wrong.wrong, 10);
    EXPECT_EQ(wrong.unwritten, 3);
    EXPECT_EQ(wrong.class_errors, 4);
    out.only_unwritten = true;
    const Mismatch holes = out.judge({});
    EXPECT_EQ(holes.wrong, 3);
    EXPECT_EQ(holes.unwritten, 3);
    EXPECT_EQ(holes.first_index, std::vector<std::int64_t>{7});
  }
}

// A NaN that nobody wrote looks like one that was: the other poison tells.
TEST(Compare, FindsWhatNobodyWroteWhereTheReferenceIsNanByTheFinitePoison) {
  for (const auto dtype : {Dtype::kFloat32, Dtype::kFloat16, Dtype::kBfloat16, Dtype::kFloat64}) {
    Output out(Tensor{.name = "y", .dtype = dtype, .extent = {4}, .stride = {1}}, 43);
    out.reference.assign(4, kNan);
    EXPECT_EQ(out.judge({}).unwritten, 4);
  }
}

TEST(Compare, NamesTheBoxOfTheDamage) {
  Output out(Tensor{.name = "y", .dtype = Dtype::kFloat32, .extent = {5, 6, 7}, .stride = {42, 7, 1}});
  for (std::int64_t i = 0; i < 210; ++i) {
    out.set(i, 0.0);
  }
  out.set(1 * 42 + 3 * 7 + 2, 1.0);
  out.set(3 * 42 + 2 * 7 + 6, 2.0);
  const Mismatch found = out.judge({});
  EXPECT_EQ(found.first_index, (std::vector<std::int64_t>{1, 2, 2}));
  EXPECT_EQ(found.last_index, (std::vector<std::int64_t>{3, 3, 6}));
  EXPECT_EQ(found.worst_index, (std::vector<std::int64_t>{3, 2, 6}));
  EXPECT_EQ(found.wrong_rows, 2);
  EXPECT_EQ(found.rows, 30);
}

TEST(Compare, ASliceCoversItsPartOfTheTensor) {
  Output out(Tensor{.name = "y", .dtype = Dtype::kFloat32, .extent = {6, 4}, .stride = {4, 1}});
  for (std::int64_t i = 0; i < 24; ++i) {
    out.set(i, static_cast<double>(i));
  }
  out.slice_dim = 0;
  out.slice_first = 2;
  out.slice_extent = 3;
  out.reference.clear();
  for (int i = 8; i < 20; ++i) {
    out.reference.push_back(i);
  }
  EXPECT_EQ(out.judge({}).wrong, 0);
  EXPECT_EQ(out.judge({}).elements, 12);
  out.set(13, 99.0);
  const Mismatch found = out.judge({});
  EXPECT_EQ(found.worst_index, (std::vector<std::int64_t>{3, 1}));
  EXPECT_EQ(found.rows, 3);
}

TEST(Compare, RefusesASliceOutsideTheTensor) {
  const Tensor tensor{.name = "y", .dtype = Dtype::kFloat32, .extent = {6}, .stride = {1}};
  EXPECT_FALSE(
      plan_comparison({.tensor = &tensor, .slice_dim = 0, .slice_first = 4, .slice_extent = 3}, place({24, 0})));
  EXPECT_FALSE(
      plan_comparison({.tensor = &tensor, .slice_dim = 1, .slice_first = 0, .slice_extent = 1}, place({24, 0})));
}

TEST(Compare, AnEmptyOutputIsRight) {
  Output out(Tensor{.name = "y", .dtype = Dtype::kFloat32, .extent = {0, 4}, .stride = {4, 1}});
  EXPECT_EQ(out.judge({}).wrong, 0);
  EXPECT_EQ(out.judge({}).elements, 0);
}

TEST(RmsBound, RefusesTheRowWhoseErrorsAreManyThoughEachIsSmall) {
  Tensor tensor{.name = "y", .dtype = Dtype::kFloat32, .extent = {3, 64}, .stride = {64, 1}};
  tensor.dims = {"M", "N"};
  Output out(tensor);
  for (std::int64_t i = 0; i < 192; ++i) {
    out.reference[static_cast<std::size_t>(i)] = 1.0;
    out.set(i, i / 64 == 1 ? 1.001 : 1.0);
  }
  const Bound bound{.ulp = 1e5, .rms = 5e-4, .region = {"N"}};
  const Mismatch found = out.judge(bound);
  EXPECT_TRUE(found.by_rms);
  EXPECT_EQ(found.wrong, 64);
  EXPECT_EQ(found.worst_index, (std::vector<std::int64_t>{1, 0}));
  EXPECT_EQ(found.first_index, (std::vector<std::int64_t>{1, 0}));
  EXPECT_EQ(found.last_index, (std::vector<std::int64_t>{1, 63}));
  EXPECT_NEAR(found.worst_out, 1e-3, 1e-6);
  EXPECT_EQ(out.judge({.ulp = 1e5, .rms = 2e-3, .region = {"N"}}).wrong, 0);
  EXPECT_EQ(out.judge({.ulp = 1e5, .rms = 7e-4}).wrong, 0);  // over the whole tensor
}

TEST(RmsBound, RefusesARegionOfAnUnknownDim) {
  Tensor tensor{.name = "y", .dtype = Dtype::kFloat32, .extent = {3}, .stride = {1}};
  tensor.dims = {"M"};
  EXPECT_FALSE(plan_comparison({.tensor = &tensor, .bound = {.rms = 1.0, .region = {"K"}}}, place({12, 0})));
}

}  // namespace
}  // namespace kf::harness
