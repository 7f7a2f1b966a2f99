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

// ---- settle -------------------------------------------------------------------------------------------------------

constexpr std::string_view kTuned = R"(// before
/*kfactory
{ "plan": 1, "hypothesis": "a \"tune\": {trap}",
  "define": {"tune": "1"},
  "tune": {"ROWS": [1, 2], "VEC": [4, 8]},
  "kernels": [{"name": "k", "grid": ["M"], "block": ["32 * ROWS"], "args": ["x"]}] }
*/
extern "C" __global__ void k(const float* x) {}
)";

TEST(Settle, PutsASelectInPlaceOfTuneAndLeavesTheRestAlone) {
  const Candidate tuned = parse_candidate(kTuned, "k.cu").value();
  const OrErrors<Candidate> settled =
      settle(tuned, {{"N <= 512", {{"ROWS", 2}, {"VEC", 4}}}, {"", {{"ROWS", 1}, {"VEC", 8}}}}, "settled.cu");
  ASSERT_TRUE(settled) << to_string(settled.error());
  std::string expected(kTuned);
  const std::string before = R"("tune": {"ROWS": [1, 2], "VEC": [4, 8]})";
  expected.replace(expected.find(before), before.size(),
                   R"("select": [{"when": "N <= 512", "set": {"ROWS": 2, "VEC": 4}}, {"set": {"ROWS": 1, "VEC": 8}}])");
  EXPECT_EQ(settled->source, expected);
  EXPECT_EQ(tune_points(settled->plan).size(), 1U);
  EXPECT_EQ(settled->plan.select.size(), 2U);
}

TEST(Settle, RefusesACandidateWithoutTunePoints) {
  const Candidate plain = parse_candidate(
                              "/*kfactory {\"plan\": 1, \"kernels\": [{\"name\": \"k\", \"grid\": [\"1\"], \"block\": "
                              "[\"32\"], \"args\": []}]} */",
                              "k.cu")
                              .value();
  const OrErrors<Candidate> settled = settle(plain, {{"", {{"ROWS", 2}}}}, "settled.cu");
  ASSERT_FALSE(settled);
  EXPECT_EQ(settled.error().front().where, "settled.cu");
}

TEST(Settle, ChangesThePlanAndNoCopyOfItsText) {
  const LaunchPlan plan = parse_candidate(kTuned, "k.cu")->plan;
  std::string one_line = plan.json;
  std::ranges::replace(one_line, '\n', ' ');
  const std::string twice =
      "// " + one_line + "\n/*kfactory" + one_line + "*/\nextern \"C\" __global__ void k(const float* x) {}\n";
  const OrErrors<Candidate> candidate = parse_candidate(twice, "k.cu");
  ASSERT_TRUE(candidate) << to_string(candidate.error());
  const OrErrors<Candidate> settled = settle(*candidate, {{"", {{"ROWS", 2}, {"VEC", 4}}}}, "settled.cu");
  ASSERT_TRUE(settled) << to_string(settled.error());
  EXPECT_TRUE(settled->plan.tune.empty());
  EXPECT_THAT(settled->source, HasSubstr("// " + one_line));
}

TEST(Settle, RefusesACandidateThatSelectsAlready) {
  std::string both(kTuned);
  both.replace(both.find("  \"kernels\""), 0, R"(  "select": [{"set": {"ROWS": 2}}],
)");
  const OrErrors<Candidate> candidate = parse_candidate(both, "k.cu");
  ASSERT_TRUE(candidate) << to_string(candidate.error());
  const OrErrors<Candidate> settled = settle(*candidate, {{"", {{"ROWS", 2}, {"VEC", 4}}}}, "settled.cu");
  ASSERT_FALSE(settled);
  EXPECT_THAT(settled.error().front().what, HasSubstr("of its own"));
}

TEST(Settle, RefusesSelectionsThatDoNotAlwaysHold) {
  const Candidate tuned = parse_candidate(kTuned, "k.cu").value();
  EXPECT_FALSE(settle(tuned, {{"N <= 512", {{"ROWS", 2}, {"VEC", 4}}}}, "settled.cu"));
}

}  // namespace
}  // namespace kf
