// SPDX-License-Identifier: Apache-2.0
#include "ledger/lesson_store.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "format/attempt_json.h"
#include "format/lesson_json.h"
#include "os/child_process.h"
#include "tests/unit/ledger/temporary_folder.h"

namespace kf {
namespace {

using testing::HasSubstr;

Lesson lesson(const std::string& claim) {
  Lesson lesson;
  lesson.claim = claim;
  lesson.technique = "vectorised loads";
  lesson.arch = "sm_90a";
  lesson.op_type = "rmsnorm";
  lesson.dtypes = {"bfloat16"};
  lesson.shapes = {"N <= 512"};
  lesson.supporting = {{{3}, {1}, 0.8, ""}, {{4}, {2}, 0.75, "other-run"}};
  lesson.origin = "run-1";
  lesson.id = lesson_id(lesson);
  return lesson;
}
// Stands for kf::merge_lessons, which is tested with the agents.
std::vector<Lesson> append(std::vector<Lesson> store, std::span<const Lesson> more) {
  store.insert(store.end(), more.begin(), more.end());
  return store;
}

TEST(LessonJson, ComesBackAsItWent) {
  const Lesson before = lesson("wider is faster");
  const OrError<Lesson> after = lesson_from_json(lesson_json(before));
  ASSERT_TRUE(after) << to_string(after.error());
  EXPECT_EQ(lesson_json(*after), lesson_json(before));
  EXPECT_EQ(after->supporting, before.supporting);
  EXPECT_EQ(after->shapes, before.shapes);
}

TEST(LessonJson, GivesEqualClaimsOfTwoRunsOneId) {
  Lesson other = lesson("wider is faster");
  other.origin = "run-2";
  other.supporting.clear();
  EXPECT_EQ(lesson_id(other), lesson("wider is faster").id);
  other.dtypes = {"float16"};
  EXPECT_NE(lesson_id(other), lesson("wider is faster").id) << "another scope is another lesson";
}

TEST(LessonJson, ReportsEveryFaultWithItsLine) {
  const std::string good = lesson_json(lesson("a"));
  const std::string text = good + "\n\n{\"kfactory_lesson\":1}\nnot json\n" + good;
  const auto lessons = lessons_from_jsonl(text, "store.jsonl");
  ASSERT_FALSE(lessons);
  const std::string errors = to_string(lessons.error());
  EXPECT_THAT(errors, HasSubstr("store.jsonl:3: the key \"claim\" is missing"));
  EXPECT_THAT(errors, HasSubstr("store.jsonl:3: the key \"scope\" is missing"));
  EXPECT_THAT(errors, HasSubstr("store.jsonl:4: not JSON"));
}

TEST(LessonJson, RefusesAnEffectWithoutARatio) {
  std::string text = lesson_json(lesson("a"));
  text.replace(text.find("0.8"), 3, "-1 ");
  const auto read = lesson_from_json(text);
  ASSERT_FALSE(read);
  EXPECT_THAT(to_string(read.error()), HasSubstr("supporting[0].ratio: expected a number above 0"));
}

TEST(LessonJson, RefusesAClaimThatWasEditedUnderItsId) {
  std::string text = lesson_json(lesson("a is faster"));
  text.replace(text.find("a is faster"), 11, "b is faster");
  EXPECT_THAT(to_string(lesson_from_json(text).error()), HasSubstr("have the id L-"));
}

TEST(LessonStore, IsEmptyWhereThereIsNoFile) {
  const TemporaryFolder folder;
  EXPECT_TRUE(read_lesson_store(folder / "none.jsonl")->empty());
  EXPECT_FALSE(read_lessons_file(folder / "none.jsonl")) << "but a file that was asked for must be there";
}

TEST(LessonStore, GrowsByMerging) {
  const TemporaryFolder folder;
  const auto file = folder / "data" / "lessons.jsonl";
  ASSERT_TRUE(merge_into_lesson_store(file, std::vector{lesson("a")}, append));
  const auto merged = merge_into_lesson_store(file, std::vector{lesson("b")}, append);
  ASSERT_TRUE(merged);
  EXPECT_EQ(merged->size(), 2U);
  EXPECT_EQ(read_lessons_file(file)->at(1).claim, "b");
}

TEST(LessonStore, StaysAsItIsWhenItCannotBeRead) {
  const TemporaryFolder folder;
  const auto file = folder / "lessons.jsonl";
  std::ofstream(file) << "{broken\n";
  ASSERT_FALSE(merge_into_lesson_store(file, std::vector{lesson("a")}, append));
  EXPECT_EQ(content_of(file), "{broken\n");
}

TEST(LessonStore, TakesInWhatManyRunsBringAtOnce) {
  const TemporaryFolder folder;
  const auto file = folder / "lessons.jsonl";
  std::vector<ChildProcess> runs;
  for (int run = 0; run < 6; ++run) {
    auto child = ChildProcess::fork({}, [&, run] {
      for (int i = 0; i < 5; ++i) {
        const std::string claim = std::to_string(run) + "/" + std::to_string(i);
        if (!merge_into_lesson_store(file, std::vector{lesson(claim)}, append)) {
          return 1;
        }
      }
      return 0;
    });
    ASSERT_TRUE(child);
    runs.push_back(std::move(*child));
  }
  for (ChildProcess& run : runs) {
    ASSERT_TRUE(run.wait(std::chrono::milliseconds(20'000))->ok());
  }
  EXPECT_EQ(read_lessons_file(file)->size(), 30U);
}

TEST(AttemptJson, ComesBackAsItWent) {
  Attempt before;
  before.id = {12};
  before.role = Role::kRepairer;
  before.ordinal = 3;
  before.parent = AttemptId{11};
  before.direction = "repair: \"quotes\"\n";
  before.state = AttemptState::kMeasured;
  before.plan_json = R"({"plan":1})";
  before.kernels = {{"main", 40, 8, 4, 16, 1, 1024, 256}};
  before.tune = {{"ROWS", 4}};
  before.verdict.gate = Gate::kTimedRun;
  before.verdict.mismatch.emplace().worst_ratio = std::numeric_limits<double>::infinity();
  before.score.emplace().cases.emplace_back().notes = {"noisy"};
  before.usage.output_tokens = 812;
  before.duration = std::chrono::milliseconds(4321);
  const OrError<Attempt> after = attempt_from_json(attempt_json(before));
  ASSERT_TRUE(after) << to_string(after.error());
  EXPECT_EQ(attempt_json(*after), attempt_json(before));
  EXPECT_EQ(after->parent, before.parent);
  EXPECT_EQ(after->kernels, before.kernels);
  EXPECT_EQ(after->verdict.mismatch->worst_ratio, before.verdict.mismatch->worst_ratio);
  EXPECT_FALSE(after->usage.input_tokens) << "what the server did not say stays unsaid";
}

TEST(AttemptJson, SaysWhereItCannotBeRead) {
  EXPECT_THAT(to_string(attempt_from_json(R"({"state":"lost"})").error()), HasSubstr("state"));
  EXPECT_FALSE(attempt_from_json("torn"));
}

TEST(AttemptJson, SurvivesTextThatIsNoUtf8) {
  Attempt attempt;
  attempt.hypothesis = "bytes \xff\xfe";
  EXPECT_TRUE(attempt_from_json(attempt_json(attempt)));
}

}  // namespace
}  // namespace kf
