// SPDX-License-Identifier: Apache-2.0
#include "cli/story.h"

#include <gtest/gtest.h>

namespace kf {
namespace {

std::string told_of(Stage stage, const std::string& json) {
  Record record;
  record.stage = stage;
  record.json = json;
  return told(record);
}

TEST(Story, TellsWhatWasAskedAndAnswered) {
  EXPECT_EQ(told_of(Stage::kOpened, R"({"role":"writer","ordinal":3})"), "asked      writer 3");
  EXPECT_NE(told_of(Stage::kOpened, R"({"role":"writer","ordinal":3,"reask":true})").find("again"), std::string::npos);
  EXPECT_EQ(told_of(Stage::kReplied, R"({"model":"m-1","tries":2,"latency_ms":8400,
                "usage":{"input_tokens":5120,"estimated_output_tokens":812}})"),
            "answered   m-1, 2 tries, 8.4 s, 5120 + about 812 tokens");
  EXPECT_EQ(told_of(Stage::kReplied, R"({"error":{"kind":"timeout","message":"silent for 600 s"}})"),
            "no answer  timeout: silent for 600 s");
}

TEST(Story, TellsWhyACandidateWasRefused) {
  EXPECT_EQ(
      told_of(Stage::kVerdict,
              R"({"verdict":{"passed":false,"gate":"check","reason":"unwritten","case_id":"check/N=7","checks":2}})"),
      "refused    check: unwritten in check/N=7 (2 checks)");
  EXPECT_EQ(told_of(Stage::kVerdict, R"({"verdict":{"passed":true,"gate":"repeat","checks":11}})"),
            "passed     repeat (11 checks)");
  EXPECT_EQ(
      told_of(Stage::kCandidate, R"({"errors":[{"where":"reply.cu:6","what":"unknown name"},{"where":"","what":""}]})"),
      "unreadable reply.cu:6: unknown name (and 1 more)");
}

TEST(Story, NeverCallsAnEstimateATime) {
  const std::string score =
      R"({"score":{"method":"estimate","speedup":1.0452,"against_baseline":"win","confirmed":true}})";
  EXPECT_EQ(told_of(Stage::kScored, score), "estimated  1.045x against the baseline (win), confirmed");
}

TEST(Story, SurvivesRecordsThatItDoesNotKnow) {
  EXPECT_EQ(told_of(Stage::kReplied, "{}"), "answered   unnamed model, 0.0 s, about 0 + about 0 tokens");
  EXPECT_EQ(told_of(Stage::kVerdict, "not json"), "verdict    this record cannot be read");
  EXPECT_EQ(told_of(Stage::kRun, R"({"event":"elapsed"})"), "");
}

}  // namespace
}  // namespace kf
