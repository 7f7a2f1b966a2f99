// SPDX-License-Identifier: Apache-2.0
#include "compile/source_lexer.h"

#include <gtest/gtest.h>

namespace kf {
namespace {

std::string tokens_of(std::string_view source) {
  SourceLexer lexer(source);
  std::string text;
  for (SourceToken token = lexer.next(); token.kind != SourceToken::Kind::kEnd; token = lexer.next()) {
    text += (text.empty() ? "" : " ") + (token.kind == SourceToken::Kind::kNewline ? std::string("NL") : token.text);
  }
  return lexer.problem() ? "problem: " + lexer.problem()->what : text;
}

TEST(SourceLexer, SplitsIntoPreprocessingTokens) {
  EXPECT_EQ(tokens_of("a+=b1;\n#x##y"), "a + = b1 ; NL # x ## y");
  EXPECT_EQ(tokens_of("1.5e+3f 0x1p-2 .5 1'000u"), "1.5e+3f 0x1p-2 .5 1'000u");
  EXPECT_EQ(tokens_of("%:%: %:"), "## #");
}

TEST(SourceLexer, JoinsSplicedLinesAnywhere) {
  EXPECT_EQ(tokens_of("ab\\\ncd 1\\\n2 \"x\\\ny\""), "abcd 12 \"xy\"");
}

TEST(SourceLexer, ReadsStringsWithPrefixesAndEscapes) {
  EXPECT_EQ(tokens_of("u8\"a\\\"b\" L'\\'' fooR\"x\""), "u8\"a\\\"b\" L'\\'' fooR \"x\"");
}

TEST(SourceLexer, ReadsRawStrings) {
  EXPECT_EQ(tokens_of("R\"(a\"b)\" x"), "R\"(a\"b)\" x");
  EXPECT_EQ(tokens_of("R\"d()\" )d\" x"), "R\"d()\" )d\" x");
  EXPECT_EQ(tokens_of("R\"(a\\\nb)\""), "R\"(a\\\nb)\"");  // no splice inside
}

TEST(SourceLexer, CountsLinesAndColumns) {
  SourceLexer lexer("a\n  b\\\nc d");
  (void)lexer.next();
  (void)lexer.next();
  const SourceToken b = lexer.next();
  EXPECT_EQ(b.text, "bc");
  EXPECT_EQ(b.at.line, 2);
  EXPECT_EQ(b.at.column, 3);
  const SourceToken d = lexer.next();
  EXPECT_EQ(d.at.line, 3);
  EXPECT_EQ(d.at.column, 3);
}

TEST(SourceLexer, NeverReadsOverTheEnd) {
  for (const char* source :
       {"\\", "\"\\", "'", "R\"", "R\"(", "/", "/*", "//", "%", "%:%", "1'", "u8", "\\\n", "#include <"}) {
    SourceLexer lexer(source);
    int count = 0;
    while (lexer.next().kind != SourceToken::Kind::kEnd) {
      ASSERT_LT(++count, 20) << source;
    }
  }
}

}  // namespace
}  // namespace kf
