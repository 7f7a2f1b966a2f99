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

TEST(Console, CutsTheWidestTextOfATableAndNeverAFigure) {
  Table table({"what it is about", "n"});
  table.add({"a text that is far too long for the terminal", "123456789"});
  for (const std::string& line : table.lines(30)) {
    EXPECT_LE(line.size(), 30U);
  }
  EXPECT_EQ(table.lines(30).back(), "a text that is f...  123456789");
  EXPECT_NE(table.lines(5).back().find("123456789"), std::string::npos);
  EXPECT_EQ(table.lines(200), table.lines());
}

TEST(Console, WritesTimesWithAUnitThatFits) {
  EXPECT_EQ(time_text(0), "-");
  EXPECT_EQ(time_text(512), "512 ns");
  EXPECT_EQ(time_text(12345), "12.35 us");
  EXPECT_EQ(time_text(2.5e6), "2.5 ms");
  EXPECT_EQ(ratio_text(0), "-");
  EXPECT_EQ(ratio_text(1.5), "1.500x");
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
