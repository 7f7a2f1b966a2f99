// SPDX-License-Identifier: Apache-2.0
#include "cli/console.h"

#include <gtest/gtest.h>

namespace kf {
namespace {

TEST(Console, MakesControlCharactersVisible) {
  EXPECT_EQ(printable("a\x1b[31mb\r\x7f"), "a\\x1b[31mb\\x0d\\x7f");
  EXPECT_EQ(printable("two\nlines\tand a tab"), "two\nlines  and a tab");
  EXPECT_EQ(printable("n\xe4me \xff"), "n\xEF\xBF\xBDme \xEF\xBF\xBD") << "our output is UTF-8 whatever we quote";
}

TEST(Console, CutsTheFirstLineAtWholeCharacters) {
  EXPECT_EQ(cut_line("short\nsecond", 20), "short");
  EXPECT_EQ(cut_line("abcdefghij", 8), "abcde...");
  const std::string cut = cut_line("\u00e4\u00e4\u00e4\u00e4\u00e4\u00e4\u00e4\u00e4\u00e4\u00e4", 6);
  EXPECT_EQ(cut, "\u00e4\u00e4\u00e4...");
}

TEST(Console, AlignsColumnsAndPutsNumbersToTheRight) {
  Table table({"name", "n"});
  table.add({"a", "5"});
  table.add({"long name", "123"});
  EXPECT_EQ(table.lines(), (std::vector<std::string>{"name         n", "a            5", "long name  123"}));
}

TEST(Console, GoesOnInFurtherLinesWhereATextOfATableIsTooWide) {
  Table table({"what it is about", "n"});
  table.add({"a text that is far too long for the terminal", "123456789"});
  for (const std::string& line : table.lines(30)) {
    EXPECT_LE(line.size(), 30U);
  }
  EXPECT_EQ(table.lines(30),
            (std::vector<std::string>{"what it is about             n", "a text that is far   123456789",
                                      "too long for the", "terminal"}));
  EXPECT_NE(table.lines(5)[2].find("123456789"), std::string::npos) << "a figure stays whole whatever the width";
  EXPECT_EQ(table.lines(200), table.lines());
}

TEST(Console, BreaksHeadsThatAreWiderThanWhatStandsBelowThemBeforeAnyText) {
  Table table({"case", "est. candidate", "est. verdict"});
  table.add({"time/M=4096,N=1024", "3.951 us", "not counted"});
  EXPECT_EQ(table.lines(42),
            (std::vector<std::string>{"case                     est.  est.", "                    candidate  verdict",
                                      "time/M=4096,N=1024   3.951 us  not counted"}));
  EXPECT_EQ(table.lines(200).size(), 2U);
}

TEST(Console, BreaksALongWordOfATableAfterASlashOrUnderscoreRatherThanInsideAName) {
  Table table({"case"});
  table.add({"emulate/M=256,N=4096"});
  table.add({"KFACTORY_RUN_ATTEMPTS"});
  EXPECT_EQ(table.lines(12),
            (std::vector<std::string>{"case", "emulate/", "M=256,N=4096", "KFACTORY_", "RUN_ATTEMPTS"}));
}

TEST(Console, BreaksALongWordOfATableAfterACommaElseAnywhere) {
  Table table({"case"});
  table.add({"time/M=32768,N=256,T=bfloat16"});
  table.add({"0a1b2c3d4e5f6a7b8c9d"});
  EXPECT_EQ(table.lines(14),
            (std::vector<std::string>{"case", "time/M=32768,", "N=256,", "T=bfloat16", "0a1b2c3d4e5f6a", "7b8c9d"}));
  Table umlauts({"text"});
  umlauts.add({std::string("\u00e4\u00e4\u00e4\u00e4\u00e4\u00e4\u00e4\u00e4\u00e4\u00e4\u00e4\u00e4\u00e4")});
  EXPECT_EQ(umlauts.lines(12).back(), "\u00e4") << "never inside a character";
}

TEST(Console, TakesItsWidthFromColumnsElseWhatReadsWellInAFile) {
  std::FILE* file = std::tmpfile();
  const auto with = [&](const std::string& columns) {
    return terminal_of(
               file, [&](const std::string& name) { return name == "COLUMNS" ? std::optional(columns) : std::nullopt; })
        .columns;
  };
  EXPECT_EQ(with("80"), 80);
  EXPECT_EQ(with("0"), 120);
  EXPECT_EQ(with("wide"), 120);
  EXPECT_EQ(terminal_of(file, [](const std::string&) { return std::nullopt; }).columns, 120);
  std::fclose(file);
}

TEST(Console, WritesTimesWithAUnitThatFits) {
  EXPECT_EQ(time_text(0), "-");
  EXPECT_EQ(time_text(512), "512 ns");
  EXPECT_EQ(time_text(12345), "12.35 us");
  EXPECT_EQ(time_text(2.5e6), "2.5 ms");
  EXPECT_EQ(ratio_text(0), "-");
  EXPECT_EQ(ratio_text(1.5), "1.500x");
  EXPECT_EQ(ratio_text(1.5, true), "1.500x estimate");
  EXPECT_EQ(ratio_text(0, true), "-");
}

TEST(Console, UsesNoColourAndNoLiveLineOffATerminal) {
  std::FILE* file = std::tmpfile();
  const Terminal terminal = terminal_of(file, [](const std::string&) { return std::nullopt; });
  EXPECT_FALSE(terminal.live);
  EXPECT_FALSE(terminal.colour);
  {
    Console console(file, terminal);
    console.progress("under way");
    console.line("done", Ink::kGood);
  }
  std::rewind(file);
  char text[64] = {};
  const std::size_t read = std::fread(text, 1, sizeof text - 1, file);
  std::fclose(file);
  EXPECT_EQ(std::string(text, read), "done\n");
}

}  // namespace
}  // namespace kf
