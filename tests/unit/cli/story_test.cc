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
  EXPECT_EQ(told_of(Stage::kOpened, R"({"role":"writer","ordinal":10003,"reask":true})"),
            "asked      writer 10003: the same again, with what was wrong with the answer");
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
      "refused    check: unwritten in check/N=7 (2 launches compared)");
  EXPECT_EQ(told_of(Stage::kVerdict, R"({"verdict":{"passed":true,"gate":"repeat","checks":11}})"),
            "passed     repeat (11 launches compared so far)");
  EXPECT_EQ(
      told_of(Stage::kCandidate, R"({"errors":[{"where":"reply.cu:6","what":"unknown name"},{"where":"","what":""}]})"),
      "unreadable reply.cu:6: unknown name (and 1 more)");
}

TEST(Story, TellsThingsInTheOrderInWhichTheyWereDone) {
  const auto record = [](Stage stage, const std::string& json) {
    Record made;
    made.stage = stage;
    made.json = json;
    return made;
  };
  const std::vector<Record> records{
      record(Stage::kCandidate, R"({"source_sha256":"0123456789"})"),
      record(Stage::kBuilt, R"({"case":"a","toolchain":"NVRTC 13.0"})"),
      record(Stage::kVerdict, R"({"verdict":{"passed":true,"gate":"source audit"}})"),
      record(Stage::kVerdict, R"({"verdict":{"passed":true,"gate":"check","checks":1}})"),
      record(Stage::kVerdict, R"({"verdict":{"passed":true,"gate":"check","checks":5}})"),
      record(Stage::kClosed, R"({"state":"measured","duration_ms":1500})"),
      record(Stage::kVerdict, R"({"verdict":{"passed":true,"gate":"confirm","checks":4}})"),
      record(Stage::kClosed, R"({"state":"measured","duration_ms":1500})"),
  };
  const std::vector<std::string> wanted{"candidate  source 01234567",
                                        "passed     source audit",
                                        "built      a by NVRTC 13.0",
                                        "passed     check (5 launches compared so far)",
                                        "closed     measured after 1.5 s",
                                        "again      to confirm it: in a fresh process, with fresh seeds",
                                        "passed     confirm (4 launches compared so far)",
                                        "closed     measured after 1.5 s"};
  EXPECT_EQ(story_of(records), wanted);
}

TEST(Story, NeverCallsAnEstimateATime) {
  const std::string score =
      R"({"score":{"method":"estimate","speedup":1.0452,"against_baseline":"win","confirmed":true}})";
  EXPECT_EQ(told_of(Stage::kScored, score), "estimated  1.045x against the baseline (win), confirmed");
}

TEST(Story, SaysWhichCasesWereCheckedAndWhichWereLeftOut) {
  EXPECT_EQ(told_of(Stage::kClosed, R"({"state":"measured","duration_ms":1500,"checked":[
                {"set":"check","checked":18,"left_out":6,"why":"too large"},
                {"set":"held_out","checked":0,"left_out":2,"why":"too large"}]})"),
            "closed     measured after 1.5 s; checked: 18 of 24 check cases, none of 2 held-out cases (the others were "
            "left out: too large)");
}

TEST(Story, CallsWhatTheEmulatorCountedEstimated) {
  EXPECT_EQ(told_of(Stage::kMeasured, R"({"case":["a","b"],"method":"estimate"})"),
            "estimated  2 cases, every sample is in the ledger");
  EXPECT_EQ(told_of(Stage::kMeasured, R"({"case":["a"],"method":"events"})"),
            "measured   1 cases, every sample is in the ledger");
}

TEST(Story, SurvivesRecordsThatItDoesNotKnow) {
  EXPECT_EQ(told_of(Stage::kReplied, "{}"), "answered   unnamed model, 0.0 s, about 0 + about 0 tokens");
  EXPECT_EQ(told_of(Stage::kVerdict, "not json"), "verdict    this record cannot be read");
  EXPECT_EQ(told_of(Stage::kRun, R"({"event":"elapsed"})"), "");
}

}  // namespace
}  // namespace kf
