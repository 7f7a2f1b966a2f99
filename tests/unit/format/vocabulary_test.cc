// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <kfactory/attempt.h>
#include <kfactory/case.h>
#include <kfactory/device.h>
#include <kfactory/digest.h>
#include <kfactory/factory.h>
#include <kfactory/family.h>
#include <kfactory/ledger.h>
#include <kfactory/lesson.h>
#include <kfactory/model.h>
#include <kfactory/seed.h>
#include <kfactory/verdict.h>

#include <set>

#include "format/nearest.h"

namespace kf {
namespace {

using testing::HasSubstr;

TEST(Dtypes, HaveNamesThatReadBack) {
  std::set<std::string_view> names;
  for (int i = 0; i < kDtypeCount; ++i) {
    const auto dtype = static_cast<Dtype>(i);
    EXPECT_EQ(dtype_from_string(to_string(dtype)), dtype);
    names.insert(to_string(dtype));
  }
  EXPECT_EQ(names.size(), static_cast<std::size_t>(kDtypeCount));
  EXPECT_EQ(dtype_from_string("bf16"), std::nullopt);
  EXPECT_EQ(dtype_from_string(""), std::nullopt);
}

TEST(Dtypes, HaveSizesAndSignificands) {
  EXPECT_EQ(size_in_bytes(Dtype::kBfloat16), 2);
  EXPECT_EQ(size_in_bytes(Dtype::kFloat8E4m3fn), 1);
  EXPECT_EQ(mantissa_bits(Dtype::kFloat16), 10);
  EXPECT_EQ(mantissa_bits(Dtype::kInt32), 0);
  EXPECT_TRUE(is_floating(Dtype::kFloat8E8m0));
  EXPECT_FALSE(is_floating(Dtype::kBool));
}

template <class E>
void expect_distinct_words(int count) {
  std::set<std::string_view> words;
  for (int i = 0; i < count; ++i) {
    words.insert(to_string(static_cast<E>(i)));
  }
  EXPECT_EQ(words.size(), static_cast<std::size_t>(count));
  EXPECT_FALSE(words.contains(""));
  EXPECT_THROW((void)to_string(static_cast<E>(count)), std::out_of_range) << "the table is longer than the enumeration";
}

TEST(Names, EveryEnumeratorHasAWordOfItsOwn) {
  expect_distinct_words<Gate>(static_cast<int>(Gate::kConfirm) + 1);
  expect_distinct_words<Role>(static_cast<int>(Role::kLibrarian) + 1);
  expect_distinct_words<Stage>(static_cast<int>(Stage::kRun) + 1);
  expect_distinct_words<BuildFailure::Kind>(static_cast<int>(BuildFailure::Kind::kPolicy) + 1);
  expect_distinct_words<DeviceFault::Kind>(static_cast<int>(DeviceFault::Kind::kLaunchTruth) + 1);
  expect_distinct_words<ClockMethod>(static_cast<int>(ClockMethod::kHost) + 1);
  expect_distinct_words<Comparison>(static_cast<int>(Comparison::kRefused) + 1);
  expect_distinct_words<AttemptState>(static_cast<int>(AttemptState::kMeasured) + 1);
  expect_distinct_words<StopReason>(static_cast<int>(StopReason::kNothingToDo) + 1);
}

TEST(Names, RolesAndStagesReadBack) {
  EXPECT_EQ(role_from_string(to_string(Role::kRepairer)), Role::kRepairer);
  EXPECT_EQ(stage_from_string(to_string(Stage::kVerdict)), Stage::kVerdict);
  EXPECT_EQ(role_from_string("boss"), std::nullopt);
  EXPECT_EQ(stage_from_string(""), std::nullopt);
}

TEST(Families, AreFoundByName) {
  EXPECT_EQ(family_from_string("normal"), 0);
  EXPECT_EQ(family_from_string("huge"), std::nullopt);
}

TEST(Digests, AreSha256) {
  EXPECT_EQ(to_hex(sha256("")), "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855");
  EXPECT_EQ(to_hex(sha256("abc")), "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
}

TEST(Digests, ReadBackFromHexadecimalOnly) {
  const Digest digest = sha256("kernel");
  EXPECT_EQ(digest_from_hex(to_hex(digest)).value(), digest);
  EXPECT_THAT(to_string(digest_from_hex("abc").error()), HasSubstr("64 hexadecimal digits, found 3"));
  EXPECT_FALSE(digest_from_hex(std::string(63, '0') + "g"));
  EXPECT_FALSE(digest_from_hex(std::string(63, '0') + "A"));
}

TEST(Seeds, DependOnEveryPart) {
  RunSecret secret;
  secret.bytes[5] = 1;
  const VariantId variant{{3}, 1};
  const std::uint64_t seed = seed_for(secret, Purpose::kCheck, variant, "check/M=1", 0);
  EXPECT_EQ(seed, seed_for(secret, Purpose::kCheck, variant, "check/M=1", 0));
  EXPECT_NE(seed, seed_for(RunSecret{}, Purpose::kCheck, variant, "check/M=1", 0));
  EXPECT_NE(seed, seed_for(secret, Purpose::kTime, variant, "check/M=1", 0));
  EXPECT_NE(seed, seed_for(secret, Purpose::kCheck, {{3}, 2}, "check/M=1", 0));
  EXPECT_NE(seed, seed_for(secret, Purpose::kCheck, {{4}, 1}, "check/M=1", 0));
  EXPECT_NE(seed, seed_for(secret, Purpose::kCheck, variant, "check/M=2", 0));
  EXPECT_NE(seed, seed_for(secret, Purpose::kCheck, variant, "check/M=1", 1));
}

TEST(Tensors, CountElementsAndSpan) {
  Tensor tensor;
  tensor.dtype = Dtype::kFloat16;
  tensor.extent = {3, 5};
  tensor.stride = {8, 1};
  EXPECT_EQ(tensor.elements(), 15);
  EXPECT_EQ(tensor.span_bytes(), (2 * 8 + 4 + 1) * 2);
  tensor.extent = {0, 5};
  EXPECT_EQ(tensor.elements(), 0);
  EXPECT_EQ(tensor.span_bytes(), 0);
  tensor.extent.clear();
  tensor.stride.clear();
  EXPECT_EQ(tensor.elements(), 1);
  EXPECT_EQ(tensor.span_bytes(), 2);
}

TEST(Errors, AreOneLineEach) {
  EXPECT_EQ(to_string(Error{"$.x", "is wrong", "do this"}), "$.x: is wrong (do this)");
  EXPECT_EQ(to_string(Error{"", "is wrong", ""}), "is wrong");
  EXPECT_EQ(to_string(Errors{{"a", "b", ""}, {"c", "d", ""}}), "a: b\nc: d");
}

TEST(Lessons, WithoutEvidenceAreConjectures) {
  Lesson lesson;
  EXPECT_TRUE(lesson.conjecture());
  EXPECT_EQ(lesson.confidence(), 0.0);
  lesson.supporting = {{{1}, {2}, 0.9}, {{3}, {4}, 0.9}};
  lesson.contradicting = {{{5}, {6}, 1.1}};
  EXPECT_DOUBLE_EQ(lesson.confidence(), 3.0 / 5.0);
}

TEST(NearestName, FindsSlipsAndNothingElse) {
  const std::vector<std::string> names{"grid", "block", "cluster", "M"};
  EXPECT_EQ(nearest_name("gird", names), "grid");
  EXPECT_EQ(nearest_name("blocks", names), "block");
  EXPECT_EQ(nearest_name("m", names), "M");
  EXPECT_EQ(nearest_name("shared", names), "");
  EXPECT_EQ(nearest_name("", names), "");
  EXPECT_EQ(nearest_name(std::string(100, 'x'), names), "");
  EXPECT_EQ(did_you_mean("clusters", names), "did you mean \"cluster\"?");
  EXPECT_EQ(joined({"a", "b"}), "a, b");
}

}  // namespace
}  // namespace kf
