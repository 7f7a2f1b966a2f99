// SPDX-License-Identifier: Apache-2.0
#include "gates/damage.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <limits>

namespace kf {
namespace {

using testing::HasSubstr;

Tensor matrix(std::int64_t rows, std::int64_t columns) {
  Tensor tensor;
  tensor.extent = {rows, columns};
  tensor.stride = {columns, 1};
  return tensor;
}
// Wrong: rows x columns of the box, all of it.
Mismatch box(const Tensor& tensor, std::int64_t r0, std::int64_t r1, std::int64_t c0, std::int64_t c1, bool unwritten) {
  Mismatch m;
  m.output = "y";
  m.rows = tensor.extent[0];
  m.columns = tensor.extent[1];
  m.elements = m.rows * m.columns;
  m.wrong_rows = r1 - r0 + 1;
  m.wrong_columns = c1 - c0 + 1;
  m.wrong = m.wrong_rows * m.wrong_columns;
  m.unwritten = unwritten ? m.wrong : 0;
  m.first_index = {r0, c0};
  m.last_index = {r1, c1};
  m.worst_index = {r0, c0};
  return m;
}

TEST(Damage, SaysThatHalfOfEachRowIsNotCovered) {
  const Tensor y = matrix(199, 8192);
  EXPECT_EQ(describe_damage(box(y, 0, 198, 4096, 8191, true), y),
            "all 199 rows, columns 4096 to 8191 (of 8192), all unwritten: the second half of each row is not covered: "
            "does the "
            "block have as many threads as the row's tile needs?");
}

TEST(Damage, NamesTheTile) {
  const Tensor y = matrix(10, 1000);
  EXPECT_THAT(describe_damage(box(y, 0, 9, 896, 999, true), y), HasSubstr("the last full tile of 128 columns"));
  const Tensor tall = matrix(199, 64);
  EXPECT_THAT(describe_damage(box(tall, 192, 198, 0, 63, true), tall),
              HasSubstr("rows after the last full tile of 64"));
}

TEST(Damage, SuspectsTheGridWhenLastRowsAreMissing) {
  const Tensor y = matrix(8, 64);
  EXPECT_THAT(describe_damage(box(y, 7, 7, 0, 63, true), y), HasSubstr("is the grid too small?"));
}

// A wrong stride: the grid was large enough, and so was the block.
TEST(Damage, OfWrittenElementsSpeaksOfIndicesAndNotOfWhatIsNotCovered) {
  const Tensor y = matrix(8, 64);
  const std::string all_but_the_first = describe_damage(box(y, 1, 7, 0, 63, false), y);
  EXPECT_THAT(all_but_the_first, HasSubstr("all rows but the first: a wrong stride or offset of rows?"));
  const std::string from_five = describe_damage(box(y, 5, 7, 0, 63, false), y);
  EXPECT_THAT(from_five, HasSubstr("rows below 5 are right: a wrong offset"));
  const std::string half = describe_damage(box(y, 0, 7, 32, 63, false), y);
  EXPECT_THAT(half, HasSubstr("columns below 32 are right: a wrong index of an element, or a wrong tail?"));
  Mismatch some = box(y, 2, 7, 0, 63, true);
  some.unwritten = some.wrong / 3;
  for (const std::string& text : {all_but_the_first, from_five, half, describe_damage(some, y)}) {
    EXPECT_THAT(text, testing::Not(HasSubstr("covered")));
    EXPECT_THAT(text, testing::Not(HasSubstr("grid")));
  }
  some.unwritten = some.wrong - 10;
  EXPECT_THAT(describe_damage(some, y), HasSubstr("is the grid too small?"));
  const Tensor vector = matrix(1, 1003);
  EXPECT_THAT(describe_damage(box(vector, 0, 0, 1000, 1002, false), vector),
              HasSubstr("a wrong tail after the last full tile of 8?"));
}

TEST(Damage, KnowsWholeRowsFromScatteredElements) {
  const Tensor y = matrix(100, 64);
  EXPECT_THAT(describe_damage(box(y, 3, 5, 0, 63, false), y), HasSubstr("once a row"));
  Mismatch scattered = box(y, 0, 99, 0, 63, false);
  scattered.wrong = 20;
  scattered.wrong_rows = 18;
  scattered.wrong_columns = 15;
  EXPECT_THAT(describe_damage(scattered, y), HasSubstr("scattered"));
  EXPECT_THAT(describe_damage(scattered, y), HasSubstr("18 rows between 0 and 99 (of 100)"));
}

// "rows 3 of 7" would read as three of the seven.
TEST(Damage, NumbersOneRowSoThatItIsNoCount) {
  const Tensor y = matrix(7, 1000);
  EXPECT_THAT(describe_damage(box(y, 3, 3, 907, 907, false), y),
              HasSubstr("row 3 (of 7 rows), column 907 (of 1000 columns)"));
  EXPECT_THAT(describe_damage(box(y, 2, 5, 0, 999, false), y), HasSubstr("rows 2 to 5 (of 7), all 1000 columns"));
}

TEST(Damage, OfAFewElementsInTheLastRowIsNoMissingTail) {
  const Tensor y = matrix(7, 1000);
  Mismatch few = box(y, 6, 6, 39, 880, false);
  few.wrong = few.wrong_columns = 3;
  EXPECT_THAT(describe_damage(few, y), testing::Not(HasSubstr("not covered")));
}

TEST(Damage, TellsNothingWrittenFromNothingRight) {
  const Tensor y = matrix(4, 4);
  EXPECT_THAT(describe_damage(box(y, 0, 3, 0, 3, true), y), HasSubstr("no element was written"));
  EXPECT_THAT(describe_damage(box(y, 0, 3, 0, 3, false), y), HasSubstr("no element is right"));
  Mismatch nan = box(y, 0, 3, 0, 3, false);
  nan.class_errors = nan.wrong;
  EXPECT_THAT(describe_damage(nan, y), HasSubstr("every element is NaN or Inf"));
}

TEST(Damage, OfScalarsAndVectorsHasWordsToo) {
  Tensor scalar;
  Mismatch m;
  m.elements = m.wrong = m.rows = m.wrong_rows = m.columns = m.wrong_columns = 1;
  EXPECT_THAT(describe_damage(m, scalar), HasSubstr("the only element"));
}

TEST(Damage, IsSilentAboutNothing) {
  EXPECT_EQ(describe_damage(Mismatch{}, matrix(2, 2)), "");
}

TEST(Message, QuotesTheWorstElementWithWhatWasAllowed) {
  Mismatch m = box(matrix(4, 4), 1, 1, 2, 2, false);
  m.worst_out = 1.5, m.worst_ref = 1.0, m.worst_bound = 0.01, m.worst_ratio = 50;
  EXPECT_EQ(mismatch_message(m),
            "y: 1 of 16 elements are wrong; the worst is at [1, 2]: got 1.5, reference 1, allowed difference 0.01 (50 "
            "times too far)");
  m.by_rms = true;
  EXPECT_THAT(mismatch_message(m), HasSubstr("RMS error 1.5"));
}

TEST(Message, OfUnwrittenElementsQuotesNoPoison) {
  Mismatch m = box(matrix(1, 16), 0, 0, 14, 15, true);
  m.worst_out = std::numeric_limits<double>::quiet_NaN(), m.worst_ref = 2,
  m.worst_ratio = std::numeric_limits<double>::infinity();
  m.shape = describe_damage(m, matrix(1, 16));
  EXPECT_EQ(mismatch_message(m),
            "y: 2 of 16 elements are not written, for example [0, 14]: reference 2. columns 14 to 15 (of 16), all "
            "unwritten: the end "
            "of each row is not covered");
}

TEST(Merge, AddsSlicesOfRows) {
  Mismatch all = box(matrix(4, 8), 2, 3, 4, 7, true);
  all.worst_ratio = 2;
  Mismatch next = box(matrix(4, 8), 0, 1, 0, 3, false);
  next.first_index = {4, 0};
  next.last_index = {5, 3};
  next.worst_ratio = 9;
  next.worst_index = {5, 1};
  merge_mismatch(all, next, false);
  EXPECT_EQ(all.rows, 8);
  EXPECT_EQ(all.columns, 8);
  EXPECT_EQ(all.wrong, 16);
  EXPECT_EQ(all.unwritten, 8);
  EXPECT_EQ(all.wrong_rows, 4);
  EXPECT_THAT(all.first_index, testing::ElementsAre(2, 0));
  EXPECT_THAT(all.last_index, testing::ElementsAre(5, 7));
  EXPECT_THAT(all.worst_index, testing::ElementsAre(5, 1));
}

TEST(Merge, AddsColumnsWhenTheLastDimIsCut) {
  Mismatch all = box(matrix(4, 8), 0, 3, 0, 7, false);
  merge_mismatch(all, box(matrix(4, 8), 0, 3, 0, 7, false), true);
  EXPECT_EQ(all.rows, 4);
  EXPECT_EQ(all.columns, 16);
  EXPECT_EQ(all.wrong_columns, 16);
}

TEST(Merge, KeepsElementErrorsOverErrorsByRms) {
  Mismatch rms = box(matrix(4, 8), 0, 0, 0, 7, false);
  rms.by_rms = true;
  Mismatch all = rms;
  merge_mismatch(all, box(matrix(4, 8), 1, 1, 1, 1, false), false);
  EXPECT_FALSE(all.by_rms);
  EXPECT_EQ(all.wrong, 1);
  merge_mismatch(all, rms, false);
  EXPECT_EQ(all.wrong, 1);
  EXPECT_EQ(all.rows, 12);
}

TEST(Merge, OfSlicesWithoutErrorsOnlyCounts) {
  Mismatch all;
  all.output = "y";
  Mismatch right;
  right.elements = 32, right.rows = 4, right.columns = 8;
  merge_mismatch(all, right, false);
  merge_mismatch(all, right, false);
  EXPECT_EQ(all.elements, 64);
  EXPECT_EQ(all.rows, 8);
  EXPECT_EQ(all.wrong, 0);
  EXPECT_EQ(all.output, "y");
}

}  // namespace
}  // namespace kf
