// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>

#include "fixtures.h"

namespace kf {
namespace {

using testing::HasSubstr;

const std::string kPlan = R"({"plan": 1, "kernels": [{"name": "k", "grid": [1], "block": [32], "args": []}]})";

std::string candidate_errors(std::string_view text) {
  const OrErrors<Candidate> candidate = parse_candidate(text, "reply.cu");
  EXPECT_FALSE(candidate) << "was accepted";
  return candidate ? "" : to_string(candidate.error());
}

TEST(Candidate, IsAPlanAndTheWholeText) {
  const std::string text = "// first\n/*kfactory\n" + kPlan + "\n*/\nextern \"C\" __global__ void k() {}\n";
  const OrErrors<Candidate> candidate = parse_candidate(text, "reply.cu");
  ASSERT_TRUE(candidate) << to_string(candidate.error());
  EXPECT_EQ(candidate->source, text);
  EXPECT_EQ(candidate->plan.kernels[0].entry, "k");
}

TEST(Candidate, NeedsAPlan) {
  EXPECT_THAT(candidate_errors("__global__ void k() {}"), HasSubstr("reply.cu:1: there is no launch plan"));
}

TEST(Candidate, HasOnlyOnePlan) {
  EXPECT_THAT(candidate_errors("/*kfactory " + kPlan + "*/\n\n/*kfactory " + kPlan + "*/"),
              HasSubstr("reply.cu:3: a second launch plan; the first is in line 1"));
}

TEST(Candidate, ErrorsCarryTheLineInTheFileAndTheJsonPath) {
  EXPECT_THAT(
      candidate_errors("// one\n/*kfactory\n{\n \"plan\": 1,\n \"kernels\": [{\"name\": \"k\",\n  \"grid\": 3,\n "
                       "\"block\": [32], \"args\": []}]\n}\n*/"),
      HasSubstr("reply.cu:6 $.kernels[0].grid: found the number 3, expected a list"));
}

TEST(Candidate, JsonErrorsCarryTheLineInTheFile) {
  EXPECT_THAT(candidate_errors("\n\n/*kfactory\n{ \"plan\": 1,\n}\n*/"), HasSubstr("reply.cu:5 $.plan: not JSON"));
}

TEST(Candidate, ACommentThatDoesNotEndIsAnError) {
  EXPECT_THAT(candidate_errors("/*kfactory " + kPlan), HasSubstr("the launch plan's comment does not end"));
}

TEST(Candidate, IgnoresPlansInsideStringsAndOtherComments) {
  const std::string other =
      "// /*kfactory {} */\nconst char* a = \"/*kfactory {} */\";\nconst char* b = R\"x(/*kfactory {} */)x\";\n"
      "const int c = 1'000; const char d = '\"';\n/* /*kfactory {} */\n";
  EXPECT_TRUE(parse_candidate(other + "/*kfactory " + kPlan + "*/", ""));
  EXPECT_THAT(candidate_errors(other), HasSubstr("there is no launch plan"));
}

TEST(Candidate, IsNotTooLong) {
  EXPECT_THAT(candidate_errors("/*kfactory " + kPlan + "*/" + std::string(2u << 20, ' ')),
              HasSubstr("at most 1048576"));
}

}  // namespace
}  // namespace kf
