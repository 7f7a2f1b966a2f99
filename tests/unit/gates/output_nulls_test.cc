// SPDX-License-Identifier: Apache-2.0
#include "gates/output_nulls.h"

#include <gmock/gmock.h>

namespace kf {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

Mismatch of(const std::string& output, std::int64_t wrong, std::int64_t elements = 10) {
  Mismatch made;
  made.output = output;
  made.elements = elements;
  made.wrong = wrong;
  return made;
}

TEST(OutputNulls, NameTheOutputThatPassesBesideOneThatIsRefused) {
  OutputNulls nulls;
  nulls.note("zeros", {of("y", 10), of("last", 0)});
  nulls.note("ones", {of("y", 10), of("last", 3)});
  nulls.note("zeros", {of("y", 10), of("last", 0)});
  EXPECT_THAT(nulls.open(), ElementsAre("zeros"));
  const std::vector<AdmissionRow> rows = nulls.rows();
  ASSERT_EQ(rows.size(), 1U);
  EXPECT_EQ(rows[0].name, "output last: zeros");
  EXPECT_FALSE(rows[0].ok);
  EXPECT_THAT(rows[0].found, HasSubstr("all 2 cases"));
}

TEST(OutputNulls, AreContentWithOneWrongElementAnywhere) {
  OutputNulls nulls;
  nulls.note("zeros", {of("index", 0)});  // a row of one element has its maximum at 0
  nulls.note("zeros", {of("index", 1)});
  EXPECT_THAT(nulls.open(), IsEmpty());
  EXPECT_THAT(nulls.rows(), IsEmpty());
}

TEST(OutputNulls, TakeNoWordOfNanWhichNoBoundLetsPass) {
  OutputNulls nulls;
  Mismatch last = of("last", 4);
  last.class_errors = 4;
  nulls.note("zeros", {last});
  EXPECT_THAT(nulls.open(), ElementsAre("zeros"));
}

TEST(OutputNulls, TakeNoWordOfEmptyOutputs) {
  OutputNulls nulls;
  nulls.note("zeros", {of("y", 0, 0)});
  EXPECT_THAT(nulls.rows(), IsEmpty());
}

}  // namespace
}  // namespace kf
