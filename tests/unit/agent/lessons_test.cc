// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>

#include <random>

#include "agent/case_text.h"
#include "agent/lesson_text.h"
#include "format/lesson_json.h"
#include "tests/unit/agent/agent_fixture.h"

namespace kf {
namespace {

using testing::HasSubstr;
using testing::Not;

std::string claim(const std::string& evidence, const std::string& more = "") {
  return R"({"claim":"wider loads are faster","technique":"vector loads","effect":"faster","predicted":"-20 %")" +
         more + R"(,"evidence":[)" + evidence + "]}";
}
std::string answer(const std::string& claims) {
  return "Here they are.\n```json\n{\"lessons\":[" + claims + "]}\n```\n";
}

class ReadLessons : public testing::Test {
 protected:
  ReadLessons() {
    trail_.timed(rmsnorm(), 1000);              // 1
    trail_.timed(rmsnorm(), 800);               // 2: 20 % faster
    trail_.rejected(Gate::kCheck, "mismatch");  // 3
    trail_.timed(rmsnorm(), 1001);              // 4: no difference to 1
  }
  std::vector<Lesson> read(const std::string& text) {
    voided_.clear();
    auto lessons = read_lessons(text, task_of(rmsnorm(), trail_.attempts()), trail_.attempts(), "run-7", voided_);
    EXPECT_TRUE(lessons) << to_string(lessons.error());
    return lessons.value_or(std::vector<Lesson>{});
  }
  std::string errors(const std::string& text) {
    const auto lessons = read_lessons(text, task_of(rmsnorm(), trail_.attempts()), trail_.attempts(), "run-7", voided_);
    return lessons ? "(it was read)" : to_string(lessons.error());
  }
  Trail trail_;
  std::vector<std::string> voided_;
};

TEST_F(ReadLessons, ComputesTheEffectFromTheAttempts) {
  const auto lessons = read(answer(claim(R"({"with":2,"without":1})")));
  ASSERT_EQ(lessons.size(), 1U);
  const Lesson& lesson = lessons[0];
  ASSERT_EQ(lesson.supporting.size(), 1U);
  EXPECT_NEAR(lesson.supporting[0].ratio, 0.8, 1e-9);
  EXPECT_TRUE(lesson.contradicting.empty());
  EXPECT_EQ(lesson.arch, "sm_90a");
  EXPECT_EQ(lesson.op_type, rmsnorm().op_type);
  EXPECT_EQ(lesson.origin, "run-7");
  EXPECT_EQ(lesson.id, lesson_id(lesson));
  EXPECT_NEAR(lesson.confidence(), 2.0 / 3, 1e-9);
  EXPECT_TRUE(voided_.empty());
}

TEST_F(ReadLessons, NeverTakesAFigureFromTheModel) {
  const auto lessons = read(answer(claim(R"({"with":2,"without":1,"ratio":0.01})")));
  ASSERT_EQ(lessons.size(), 1U);
  EXPECT_NEAR(lessons[0].supporting[0].ratio, 0.8, 1e-9);
}

TEST_F(ReadLessons, LetsTheDirectionOfTheClaimDecideForOrAgainst) {
  const auto wrong = read(answer(claim(R"({"with":1,"without":2})")));  // slower, though claimed faster
  ASSERT_EQ(wrong[0].contradicting.size(), 1U);
  EXPECT_NEAR(wrong[0].contradicting[0].ratio, 1.25, 1e-9);
  std::string slower = claim(R"({"with":1,"without":2})");
  slower.replace(slower.find("\"effect\":\"faster\""), 17, "\"effect\":\"slower\"");
  EXPECT_EQ(read(answer(slower))[0].supporting.size(), 1U);
}

TEST_F(ReadLessons, CountsNoChangeAgainstAClaim) {
  EXPECT_EQ(read(answer(claim(R"({"with":4,"without":1})")))[0].contradicting.size(), 1U);
}

TEST_F(ReadLessons, VoidsALessonThatNamesAnUnknownAttempt) {
  EXPECT_TRUE(read(answer(claim(R"({"with":2,"without":1},{"with":99,"without":1})"))).empty());
  ASSERT_EQ(voided_.size(), 1U);
  EXPECT_THAT(voided_[0], testing::AllOf(HasSubstr("wider loads are faster"), HasSubstr("attempt 99 does not exist")));
}

TEST_F(ReadLessons, VoidsALessonThatNamesAnAttemptWithoutAScore) {
  EXPECT_TRUE(read(answer(claim(R"({"with":3,"without":1})"))).empty());
  EXPECT_THAT(voided_.at(0), HasSubstr("attempt 3 was not measured (rejected)"));
}

TEST_F(ReadLessons, KeepsTheOthersWhenOneIsVoid) {
  const std::string other = R"({"claim":"more","effect":"faster","evidence":[]})";
  EXPECT_EQ(read(answer(claim(R"({"with":99,"without":1})") + "," + other)).size(), 1U);
  EXPECT_EQ(voided_.size(), 1U);
}

TEST_F(ReadLessons, LabelsAClaimWithoutEvidenceAConjecture) {
  const auto lessons = read(answer(claim("")));
  ASSERT_EQ(lessons.size(), 1U);
  EXPECT_TRUE(lessons[0].conjecture());
  EXPECT_EQ(lessons[0].confidence(), 0.0);
}

TEST_F(ReadLessons, RefusesAnAttemptAsEvidenceAgainstItself) {
  EXPECT_TRUE(read(answer(claim(R"({"with":2,"without":2})"))).empty());
  EXPECT_THAT(voided_.at(0), HasSubstr("against itself"));
}

TEST_F(ReadLessons, MeasuresWithinTheScopeOnly) {
  // Attempt 2 becomes slow where N > 512; the claim is about N <= 512.
  for (CaseScore& score : trail_.attempts()[1].score->cases) {
    const Case* of = shown_case(rmsnorm(), score.case_id);
    score.candidate.median *= of->axes.at("N") > 512 ? 10 : 1;
  }
  const auto lessons =
      read(answer(claim(R"({"with":2,"without":1})", R"(,"shapes":["N <= 512"],"dtypes":["bfloat16"])")));
  ASSERT_EQ(lessons.size(), 1U);
  EXPECT_NEAR(lessons[0].supporting.at(0).ratio, 0.8, 1e-9);
}

TEST_F(ReadLessons, VoidsALessonWhoseScopeCoversNoCommonCase) {
  EXPECT_TRUE(read(answer(claim(R"({"with":2,"without":1})", R"(,"shapes":["N == 3"])"))).empty());
  EXPECT_THAT(voided_.at(0), HasSubstr("no timed case in common"));
}

TEST_F(ReadLessons, VoidsALessonWithAShapeThatIsNoExpression) {
  EXPECT_TRUE(read(answer(claim("", R"(,"shapes":["small rows"])"))).empty());
  EXPECT_THAT(voided_.at(0), HasSubstr("shape cannot be evaluated"));
  EXPECT_TRUE(read(answer(claim("", R"(,"shapes":["K > 3"])"))).empty());
  EXPECT_TRUE(read(answer(claim("", R"(,"dtypes":["int3"])"))).empty());
  EXPECT_THAT(voided_.at(0), HasSubstr("\"int3\" is no dtype"));
}

TEST_F(ReadLessons, NeverComparesAnEstimateWithATime) {
  trail_.attempts()[0].score->method = ClockMethod::kEstimate;
  EXPECT_TRUE(read(answer(claim(R"({"with":2,"without":1})"))).empty());
  EXPECT_THAT(voided_.at(0), HasSubstr("another method"));
}

TEST_F(ReadLessons, LabelsTheEffectOfTwoEstimates) {
  EXPECT_EQ(read(answer(claim(R"({"with":2,"without":1})")))[0].evidence(), "measured");
  for (Attempt& attempt : trail_.attempts()) {
    if (attempt.score) {
      attempt.score->method = ClockMethod::kEstimate;
    }
  }
  const auto lessons = read(answer(claim(R"({"with":2,"without":1})")));
  ASSERT_EQ(lessons.size(), 1U);
  EXPECT_TRUE(lessons[0].supporting.at(0).estimate);
  EXPECT_EQ(lessons[0].evidence(), "estimated");
  const OrError<Lesson> again = lesson_from_json(lesson_json(lessons[0]));
  ASSERT_TRUE(again);
  EXPECT_EQ(again->supporting, lessons[0].supporting) << "the label survives the file";
  EXPECT_THAT(lesson_line(lessons[0]), HasSubstr("estimated: 1 for it, 0 against"));
}

TEST_F(ReadLessons, LeavesOutCasesThatWereOnlyScaledFrom) {
  for (std::size_t at = 0; at < 2; ++at) {
    Score& score = *trail_.attempts()[at].score;
    for (CaseScore& of : score.cases) {
      of.scaled_from = score.cases[0].case_id;
    }
    score.cases[0].scaled_from.clear();
    score.cases[0].candidate.median = at == 0 ? 1 : 1000;  // would outweigh the others
  }
  EXPECT_NEAR(read(answer(claim(R"({"with":2,"without":1})")))[0].supporting.at(0).ratio, 0.8, 1e-9);
}

TEST_F(ReadLessons, NeverComparesCacheStates) {
  trail_.attempts()[0].score->state = CacheState::kWarm;
  EXPECT_TRUE(read(answer(claim(R"({"with":2,"without":1})"))).empty());
}

TEST_F(ReadLessons, CountsAPairOnce) {
  const auto lessons = read(answer(claim(R"({"with":2,"without":1},{"with":2,"without":1})")));
  EXPECT_EQ(lessons[0].supporting.size(), 1U);
}

TEST_F(ReadLessons, UnitesEqualClaims) {
  const auto lessons = read(answer(claim(R"({"with":2,"without":1})") + "," + claim(R"({"with":2,"without":4})")));
  ASSERT_EQ(lessons.size(), 1U);
  EXPECT_EQ(lessons[0].supporting.size(), 2U);
}

TEST_F(ReadLessons, ReadsAnAnswerWithoutAFence) {
  EXPECT_EQ(read("{\"lessons\":[" + claim("") + "]}").size(), 1U);
}

TEST_F(ReadLessons, SaysWhatIsWrongWithAnAnswer) {
  EXPECT_THAT(errors("I learned a lot."), HasSubstr("no block with \"lessons\""));
  EXPECT_THAT(errors("```json\n{\"lessons\": [\n```"), HasSubstr("not JSON"));
  EXPECT_THAT(errors("```json\n{\"lessons\": 3}\n```"), HasSubstr("$.lessons: expected a list"));
  EXPECT_THAT(errors(answer(R"({"claim":1,"effect":"quicker","evidence":[{"with":0}]})")),
              testing::AllOf(HasSubstr("$.lessons[0].claim: expected a text"), HasSubstr("found \"quicker\""),
                             HasSubstr("$.lessons[0].evidence[0].with"), HasSubstr("key \"without\" is missing")));
  EXPECT_THAT(errors(answer(claim("")) + answer(claim(""))), HasSubstr("a second block"));
}

TEST_F(ReadLessons, SurvivesAnyDamage) {
  const std::string good = answer(claim(R"({"with":2,"without":1})"));
  std::mt19937 random(2);
  for (int round = 0; round < 2000; ++round) {
    std::string text = good;
    text[random() % text.size()] = static_cast<char>(random());
    text.erase(random() % text.size(), random() % 5);
    std::vector<std::string> voided;
    (void)read_lessons(text, task_of(rmsnorm(), trail_.attempts()), trail_.attempts(), "x", voided);
  }
}

// ---- choosing and merging ----------------------------------------------------------------------------------------

Lesson lesson(const std::string& text, int supporting = 0, int contradicting = 0, const std::string& origin = "a") {
  Lesson of;
  of.claim = text;
  of.arch = "sm_90a";
  of.op_type = rmsnorm().op_type;
  of.origin = origin;
  for (int i = 0; i < supporting; ++i) {
    of.supporting.push_back({{i + 2}, {1}, 0.9, ""});
  }
  for (int i = 0; i < contradicting; ++i) {
    of.contradicting.push_back({{i + 50}, {1}, 1.1, ""});
  }
  of.id = lesson_id(of);
  return of;
}
std::vector<std::string> claims_of(std::span<const Lesson> lessons) {
  std::vector<std::string> claims;
  std::ranges::transform(lessons, std::back_inserter(claims), &Lesson::claim);
  return claims;
}

TEST(LessonsFor, PutsTheMostConfidentFirstAndConjecturesLast) {
  const std::vector<Lesson> store{lesson("conjecture"), lesson("mixed", 1, 1), lesson("sure", 5),
                                  lesson("refuted", 0, 3), lesson("likely", 1)};
  EXPECT_THAT(claims_of(lessons_for(store, rmsnorm(), "sm_90a", 10)),
              testing::ElementsAre("sure", "likely", "mixed", "refuted", "conjecture"));
  EXPECT_THAT(claims_of(lessons_for(store, rmsnorm(), "sm_90a", 2)), testing::ElementsAre("sure", "likely"));
}

TEST(LessonsFor, MatchesTheScope) {
  std::vector<Lesson> store(7, lesson("fits"));
  store[1].op_type = "gemm";
  store[2].arch = "sm_80";
  store[3].dtypes = {"int8"};
  store[4].dtypes = {"int8", "float16"};
  store[4].claim = "one dtype is enough";
  store[5].shapes = {"N > 100000000"};
  store[6].shapes = {"N >= 65536"};
  store[6].claim = "some timed case is covered";
  EXPECT_THAT(claims_of(lessons_for(store, rmsnorm(), "sm_90a", 10)),
              testing::UnorderedElementsAre("fits", "one dtype is enough", "some timed case is covered"));
}

TEST(LessonsFor, TakesTheFamilyOfAnArchitectureForOne) {
  const std::vector<Lesson> store{lesson("a")};
  EXPECT_EQ(lessons_for(store, rmsnorm(), "sm_90", 10).size(), 1U);
  EXPECT_TRUE(lessons_for(store, rmsnorm(), "sm_100a", 10).empty());
}

TEST(LessonsFor, LeavesOutShapesOverAxesThatTheSpecDoesNotHave) {
  Lesson other = lesson("a");
  other.shapes = {"HEADS > 8"};
  EXPECT_TRUE(lessons_for(std::vector{other}, rmsnorm(), "sm_90a", 10).empty());
}

TEST(MergeLessons, UnitesTheEvidenceOfTwoRuns) {
  const auto merged =
      merge_lessons({lesson("x", 1, 0, "a")}, std::vector{lesson("x", 2, 1, "b"), lesson("y", 0, 0, "b")});
  ASSERT_EQ(merged.size(), 2U);
  EXPECT_EQ(merged[0].supporting.size(), 3U) << "attempt 2 of run a is not attempt 2 of run b";
  EXPECT_EQ(merged[0].contradicting.size(), 1U);
  EXPECT_EQ(merged[0].origin, "a");
  EXPECT_EQ(merged[0].supporting[1].run, "b");
  EXPECT_EQ(merged[0].supporting[0].run, "");
}

TEST(MergeLessons, CountsTheSameEvidenceOnce) {
  const std::vector<Lesson> lessons{lesson("x", 2, 1)};
  const auto once = merge_lessons({}, lessons);
  const auto twice = merge_lessons(once, lessons);
  EXPECT_EQ(lessons_jsonl(twice), lessons_jsonl(once));
  // Also when it comes back through another store, where it carries its run's name.
  const auto store = merge_lessons({lesson("x", 1, 0, "b")}, lessons);
  EXPECT_EQ(lessons_jsonl(merge_lessons(store, lessons)), lessons_jsonl(store));
}

TEST(MergeLessons, GivesTheSameEvidenceInAnyOrder) {
  const std::vector<Lesson> a{lesson("x", 2, 0, "a")};
  const std::vector<Lesson> b{lesson("x", 1, 2, "b")};
  const std::vector<Lesson> ab = merge_lessons(merge_lessons({}, a), b);
  const std::vector<Lesson> ba = merge_lessons(merge_lessons({}, b), a);
  EXPECT_EQ(ab[0].supporting.size(), ba[0].supporting.size());
  EXPECT_EQ(ab[0].contradicting.size(), ba[0].contradicting.size());
  EXPECT_EQ(ab[0].confidence(), ba[0].confidence());
}

TEST(LessonsMarkdown, ShowsEvidenceAndLabelsConjectures) {
  const std::string text = lessons_markdown(std::vector{lesson("guess"), lesson("shown", 1, 1)});
  EXPECT_LT(text.find("## Measured"), text.find("### shown"));
  EXPECT_LT(text.find("## Conjectures"), text.find("### guess"));
  EXPECT_LT(text.find("### shown"), text.find("## Conjectures"));
  EXPECT_THAT(text, HasSubstr("for it: 2 against 1: 0.900"));
  EXPECT_THAT(text, HasSubstr("against it: 50 against 1: 1.100"));
  EXPECT_THAT(text, HasSubstr("conjecture: nothing was measured"));
  EXPECT_THAT(text, HasSubstr("confidence 0.50"));
}

TEST(LessonsMarkdown, KeepsEstimatesApartFromTimes) {
  Lesson estimated = lesson("counted", 1);
  estimated.supporting[0].estimate = true;
  const std::string text = lessons_markdown(std::vector{estimated, lesson("timed", 1)});
  EXPECT_LT(text.find("### timed"), text.find("## By an emulator's estimates"));
  EXPECT_LT(text.find("## By an emulator's estimates"), text.find("### counted"));
  EXPECT_THAT(text, HasSubstr(": 0.900 (estimate)"));
}

TEST(LessonsMarkdown, CannotBeBrokenByWhatModelsWrite) {
  EXPECT_THAT(lessons_markdown(std::vector{lesson("a\n## Measured\nb")}), Not(HasSubstr("\n## Measured\n")));
}

TEST(LessonsMarkdown, SaysWhenThereIsNothing) {
  EXPECT_THAT(lessons_markdown({}), HasSubstr("Nothing was measured"));
}

}  // namespace
}  // namespace kf
