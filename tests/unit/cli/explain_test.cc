// SPDX-License-Identifier: Apache-2.0
#include "cli/explain.h"

#include <gmock/gmock.h>

namespace kf {
namespace {

using testing::ElementsAre;

constexpr const char* kSource = "one\ntwo\nthree\nfour\nfive\nsix\n";

TEST(Explain, ShowsTheLinesThatAMessageNamesOnceWithTheirNeighbours) {
  Verdict verdict;
  verdict.passed = false;
  verdict.message = "candidate.cu:4: error: no; see candidate.cu:4 and candidate.cu(1)";
  const auto explained = explain(verdict, kSource);
  ASSERT_EQ(explained.size(), 2u);
  EXPECT_EQ(explained[0].place.line, 4);
  EXPECT_EQ(explained[0].first_line, 2);
  EXPECT_THAT(explained[0].lines, ElementsAre("two", "three", "four", "five", "six"));
  EXPECT_EQ(explained[1].first_line, 1);
  EXPECT_THAT(explained[1].lines, ElementsAre("one", "two", "three"));
}

TEST(Explain, AFindingsPlacesComeFirstWithTheirRoles) {
  Verdict verdict;
  verdict.passed = false;
  verdict.message = "something at candidate.cu:1";
  verdict.finding.emplace();
  verdict.finding->places = {{"candidate.cu", 6, 70, "ld.shared.f32", "here"},
                             {"candidate.cu", 5, 60, "st.shared.f32", "wrote"}};
  const auto explained = explain(verdict, kSource);
  ASSERT_EQ(explained.size(), 2u);
  EXPECT_EQ(explained[0].place.instruction, "ld.shared.f32");
  EXPECT_THAT(explained[0].lines, ElementsAre("four", "five", "six"));
  EXPECT_EQ(explained[1].place.role, "wrote");
}

TEST(Explain, APlaceOutsideTheSourceHasNoLines) {
  Verdict verdict;
  verdict.passed = false;
  verdict.message = "candidate.cu:99: what";
  const auto explained = explain(verdict, kSource);
  ASSERT_EQ(explained.size(), 1u);
  EXPECT_TRUE(explained[0].lines.empty());
}

}  // namespace
}  // namespace kf
