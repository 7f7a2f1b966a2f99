// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>

#include <random>

#include "agent/fenced_block.h"
#include "tests/unit/agent/agent_fixture.h"

namespace kf {
namespace {

using testing::HasSubstr;

std::string answer_with(const std::string& opening, const std::string& closing = "```") {
  return "The loads were too narrow.\n\n" + opening + "\n" + good_source() + closing + "\nThat is all.\n";
}
std::string errors_of(std::string_view answer) {
  const OrErrors<Candidate> candidate = read_candidate(answer);
  return candidate ? "(it was read)" : to_string(candidate.error());
}

TEST(ReadCandidate, TakesTheOneCudaBlock) {
  const OrErrors<Candidate> candidate = read_candidate(answer_with("```cuda"));
  ASSERT_TRUE(candidate) << to_string(candidate.error());
  EXPECT_EQ(candidate->source, good_source());
  EXPECT_EQ(candidate->plan.hypothesis, "wider loads");
}

TEST(ReadCandidate, TakesOtherNamesOfTheLanguageAndNone) {
  for (const char* opening :
       {"```cu", "```cpp", "```c++", "```CUDA", "```", "``` cuda", "```cuda title=\"kernel.cu\"", "```{.cuda}"}) {
    EXPECT_TRUE(read_candidate(answer_with(opening))) << opening;
  }
}

TEST(ReadCandidate, TakesTildesAndLongerFences) {
  EXPECT_TRUE(read_candidate(answer_with("~~~cuda", "~~~")));
  EXPECT_TRUE(read_candidate(answer_with("`````cuda", "`````")));
}

TEST(ReadCandidate, KeepsBackticksInsideALongerFence) {
  const std::string source = good_source() + "// ```\n// not the end\n";
  const auto candidate = read_candidate("````cuda\n" + source + "````\n");
  ASSERT_TRUE(candidate) << to_string(candidate.error());
  EXPECT_EQ(candidate->source, source);
}

TEST(ReadCandidate, ReadsWindowsLineEnds) {
  std::string answer = answer_with("```cuda");
  for (std::size_t at = answer.find('\n'); at != std::string::npos; at = answer.find('\n', at + 2)) {
    answer.replace(at, 1, "\r\n");
  }
  const auto candidate = read_candidate(answer);
  ASSERT_TRUE(candidate) << to_string(candidate.error());
  EXPECT_EQ(candidate->source, good_source());
}

TEST(ReadCandidate, ReadsABlockInsideAList) {
  std::string indented = "1. Here:\n\n   ```cuda\n";
  std::string source = good_source();
  for (std::size_t at = 0; at < source.size();) {
    const std::size_t end = source.find('\n', at);
    indented += "   " + source.substr(at, end - at + 1);
    at = end + 1;
  }
  const auto candidate = read_candidate(indented + "   ```\n");
  ASSERT_TRUE(candidate) << to_string(candidate.error());
  EXPECT_EQ(candidate->source, source);
}

TEST(ReadCandidate, IgnoresBlocksInOtherLanguages) {
  EXPECT_TRUE(read_candidate("```text\nfor row in rows\n```\n" + answer_with("```cuda") + "```bash\nrun\n```\n"));
}

TEST(ReadCandidate, TakesTheBareFile) {
  EXPECT_TRUE(read_candidate("\n" + good_source()));
}

TEST(ReadCandidate, TakesAnUnclosedBlockThatIsWhole) {
  EXPECT_TRUE(read_candidate("Here:\n```cuda\n" + good_source()));
}

TEST(ReadCandidate, RefusesAnUnclosedBlockThatWasCutOff) {
  const std::string source = good_source();
  EXPECT_THAT(errors_of("Here:\n```cuda\n" + source.substr(0, source.size() - 2)),
              testing::AllOf(HasSubstr("answer:2"), HasSubstr("cut off"), HasSubstr("shorten")));
}

TEST(ReadCandidate, RefusesSeveralBlocksAndQuotesEach) {
  const std::string errors = errors_of(answer_with("```cuda") + answer_with("```cpp"));
  EXPECT_THAT(errors, HasSubstr("answer:3: one of 2 code blocks: ```cuda / /*kfactory"));
  EXPECT_THAT(errors, HasSubstr("one of 2 code blocks: ```cpp"));
  EXPECT_THAT(errors, HasSubstr("exactly one block"));
}

TEST(ReadCandidate, RefusesAnEmptyAnswerAndOneWithoutCode) {
  EXPECT_THAT(errors_of(""), HasSubstr("the answer is empty"));
  EXPECT_THAT(errors_of(" \r\n"), HasSubstr("the answer is empty"));
  EXPECT_THAT(errors_of("I would vectorise the loads."), HasSubstr("no code block"));
}

TEST(ReadCandidate, RefusesCodeWithoutAPlan) {
  EXPECT_THAT(errors_of("```cuda\n__global__ void f() {}\n```"), HasSubstr("no /*kfactory"));
}

TEST(ReadCandidate, SeesThatThePlanStandsApart) {
  EXPECT_THAT(errors_of("```json\n{\"plan\": 1, \"kernels\": []}\n```\n```cuda\n__global__ void f() {}\n```"),
              HasSubstr("the plan stands in a block of its own"));
}

TEST(ReadCandidate, QuotesTheLineOfAFaultInThePlan) {
  std::string source = good_source();
  source.replace(source.find("\"block\""), 7, "\"blocks\"");
  const std::string errors = errors_of("```cuda\n" + source + "```");
  EXPECT_THAT(errors, HasSubstr("candidate.cu:"));
  EXPECT_THAT(errors, HasSubstr("$.kernels[0]"));
  EXPECT_THAT(errors, HasSubstr("line 3 reads: "));
  EXPECT_THAT(errors, HasSubstr("\"blocks\""));
}

TEST(ReadCandidate, SurvivesAnyDamage) {
  const std::string good = answer_with("```cuda");
  std::mt19937 random(3);
  for (int round = 0; round < 3000; ++round) {
    std::string answer = good;
    for (unsigned i = 0; i < 1 + random() % 4; ++i) {
      const std::size_t at = random() % answer.size();
      switch (random() % 3) {
        case 0:
          answer[at] = static_cast<char>(random());
          break;
        case 1:
          answer.erase(at, random() % 20);
          break;
        default:
          answer.insert(at, std::string(1 + random() % 4, "`~{}\"*/\n"[random() % 8]));
      }
    }
    const auto candidate = read_candidate(answer);
    EXPECT_TRUE(candidate || !candidate.error().empty());
  }
}

TEST(FencedBlocks, AreNotOpenedByInlineCode) {
  EXPECT_TRUE(fenced_blocks("use ```x``` here\n```x``` too\n").empty());
}

TEST(FencedBlocks, CloseOnlyWithTheirOwnMark) {
  const auto blocks = fenced_blocks("~~~c\n```\n~~\n~~~ x\n~~~~\nafter\n");
  ASSERT_EQ(blocks.size(), 1U);
  EXPECT_EQ(blocks[0].text, "```\n~~\n~~~ x\n");
  EXPECT_TRUE(blocks[0].closed);
}

TEST(FencedBlocks, KnowTheirLines) {
  const auto blocks = fenced_blocks("a\n\n```one\nx\n```\n```two\n");
  ASSERT_EQ(blocks.size(), 2U);
  EXPECT_EQ(blocks[0].line, 3);
  EXPECT_EQ(blocks[1].line, 6);
  EXPECT_EQ(blocks[1].language, "two");
  EXPECT_FALSE(blocks[1].closed);
}

}  // namespace
}  // namespace kf
