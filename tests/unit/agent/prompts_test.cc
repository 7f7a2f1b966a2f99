// SPDX-License-Identifier: Apache-2.0
#include "agent/prompts.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <set>

#include <kfactory/embedded.h>
#include <kfactory/error.h>

namespace kf {
namespace {

using testing::HasSubstr;

std::string fatal_of(std::string_view name, const Map<std::string>& values) {
  try {
    (void)fill_prompt(name, values);
  } catch (const Fatal& fault) {
    return fault.what();
  }
  return "(nothing was thrown)";
}

TEST(Prompts, AreAllPartOfTheBinary) {
  std::set<std::string> names;
  for (const std::string_view file : embedded_files()) {
    if (file.starts_with("src/agent/prompts/")) {
      names.insert(std::string(file.substr(18)));
      EXPECT_FALSE(embedded_file(file).empty()) << file;
    }
  }
  EXPECT_EQ(names, (std::set<std::string>{"candidate_format.md", "directions.md", "librarian.md", "reask.md",
                                          "repairer.md", "system_librarian.md", "system_repairer.md",
                                          "system_writer.md", "task.md", "writer.md"}))
      << "a new prompt needs a caller and a line here";
}

TEST(Prompts, RefuseANameWithoutAValue) {
  EXPECT_THAT(fatal_of("reask", {{"prompt", "p"}, {"errors", "e"}}), HasSubstr("asks for {{answer}}"));
}

TEST(Prompts, RefuseAValueWithoutAName) {
  EXPECT_THAT(fatal_of("reask", {{"prompt", "p"}, {"errors", "e"}, {"answer", "a"}, {"seed", "1"}}),
              HasSubstr("has no {{seed}}"));
}

TEST(Prompts, AreNotFilledTwice) {
  const std::string text = fill_prompt("reask", {{"prompt", "{{errors}}"}, {"errors", "e"}, {"answer", "{{prompt}}"}});
  EXPECT_THAT(text, HasSubstr("{{errors}}")) << "what a model writes is no template";
  EXPECT_THAT(text, HasSubstr("{{prompt}}"));
}

TEST(Placeholders, AreFoundOnceEachAndNothingElseIs) {
  EXPECT_THAT(placeholders("{{b}} {{a}} {{b}} {{ a }} {a} {{A}} {{}} {{x"), testing::ElementsAre("b", "a"));
}

TEST(SafeText, DropsControlCharactersButKeepsLines) {
  EXPECT_EQ(safe_text("a\x1b[31mb\r\n\tc\x7f\x01", 100), "a[31mb\n\tc");
}

TEST(SafeText, SaysHowMuchWasCut) {
  EXPECT_EQ(safe_text("abcdefgh", 3), "abc\n[5 bytes left out]");
}

TEST(SafeText, CutsBetweenCharacters) {
  EXPECT_EQ(safe_text("a\xc3\xa4"
                      "b",
                      2),
            "a\n[3 bytes left out]");
}

TEST(SafeText, NamesNoHeldOutCase) {
  EXPECT_EQ(safe_text("in held_out/M=31,N=257 and (held_out/2) it failed", 200),
            "in (a held-out case) and ((a held-out case)) it failed");
}

TEST(SafeLine, IsOneLineThatFitsIntoATable) {
  EXPECT_EQ(safe_line("a | b\nc\td", 100), "a / b c d");
}

TEST(Fenced, OutlastsTheFencesInside) {
  EXPECT_EQ(fenced("cuda", "x\n"), "```cuda\nx\n```");
  EXPECT_EQ(fenced("", "```\nx"), "````\n```\nx\n````");
  EXPECT_EQ(fenced("", "a ````` b"), "``````\na ````` b\n``````");
}

}  // namespace
}  // namespace kf
