// SPDX-License-Identifier: Apache-2.0
#include "compile/source_audit.h"

#include <gtest/gtest.h>
#include <kfactory/audit.h>

#include "compile/headers.h"

namespace kf {
namespace {

// "passed", or the reason and where: "include 1:10".
std::string verdict_of(std::string_view source) {
  const auto verdict = audit_source(source);
  if (!verdict) {
    return "passed";
  }
  EXPECT_FALSE(verdict->passed);
  EXPECT_EQ(verdict->gate, Gate::kSourceAudit);
  const std::string& message = verdict->message;
  EXPECT_TRUE(message.starts_with("candidate.cu:")) << message;
  return verdict->reason + " " + message.substr(13, message.find(": ") - 13);
}

TEST(SourceAudit, PassesAnOrdinaryCandidate) {
  EXPECT_EQ(verdict_of("/*kfactory {\"plan\": 1} */\n"
                       "#include <cuda_bf16.h>\n"
                       "#include <cuda/barrier>\n"
                       "# include <cub/block/block_reduce.cuh>  // why\n"
                       "%:include <mma.h>\n"
                       "#include \"cuda_fp16.h\"\n"
                       "#define CAT(a, b) a##b\n"
                       "#if VEC > 4 && defined(FOO) || N % 8 == 0\n"
                       "#pragma unroll 4\n"
                       "#endif\n"
                       "extern \"C\" __global__ void k(float* x) {\n"
                       "  constexpr int n = 1'000'000; char c = '\\''; const char* s = \"a // b /* c\";\n"
                       "  asm volatile(\"{ .reg .pred p; mov.u32 %0, %%tid.x; }\" : \"=r\"(x[0]));\n"
                       "}\n"),
            "passed");
}

TEST(SourceAudit, PassesEveryHeaderThatItNames) {
  for (const char* name :
       {"cuda_bf16.h", "cuda_fp16.h", "cuda_fp8.h", "cooperative_groups.h", "cooperative_groups/reduce.h", "mma.h",
        "cuda/barrier", "cuda/pipeline", "cuda/ptx", "cuda/atomic", "cuda/std/cstdint", "cub/cub.cuh", "cstdint",
        "cuda_runtime.h", "cuda_pipeline.h", "nv/target"}) {
    EXPECT_EQ(verdict_of(std::string("#include <") + name + ">\n"), "passed") << name;
  }
}

TEST(SourceAudit, RefusesOtherHeaders) {
  for (const char* name : {"/etc/passwd", "../secret.h", "cuda/../../secret", "secret.h", "cuda//x", "cuda/./x",
                           "sys/stat.h", "iostream", "cuda/\\x", "cub/x y", "", "cuda"}) {
    EXPECT_EQ(verdict_of(std::string("#include <") + name + ">\n"), "include 1:10") << name;
    EXPECT_EQ(verdict_of(std::string("#include \"") + name + "\"\n"), "include 1:10") << name;
  }
}

TEST(SourceAudit, SaysWhichHeadersAreAllowed) {
  const auto verdict = audit_source("#include \"/etc/passwd\"\n");
  ASSERT_TRUE(verdict);
  EXPECT_NE(verdict->message.find("`\"/etc/passwd\"`"), std::string::npos) << verdict->message;
  EXPECT_NE(verdict->message.find("cuda_bf16.h"), std::string::npos);
}

TEST(SourceAudit, SeesThroughLineSplices) {
  EXPECT_EQ(verdict_of("#inc\\\nlude \"/etc/passwd\"\n"), "include 2:6");
  EXPECT_EQ(verdict_of("#inc\\\r\nlude \"/etc/passwd\"\n"), "include 2:6");
  EXPECT_EQ(verdict_of("\\\n#include \"/etc/passwd\"\n"), "include 2:10");
  EXPECT_EQ(verdict_of("#\\\n\\\ninclude </etc/passwd>\n"), "include 3:9");
  EXPECT_EQ(verdict_of("#include <cuda_\\\nbf16.h>\n"), "passed");
  EXPECT_EQ(verdict_of("/\\\n/ comment \\\n#include \"/etc/passwd\"\n"), "passed");
  EXPECT_EQ(verdict_of("/\\\n* c *\\\n/#include \"/etc/passwd\"\n"), "include 3:11");
}

TEST(SourceAudit, RefusesABlankBehindABackslash) {
  // Some compilers join the lines then, others do not: this one would read the file.
  EXPECT_EQ(verdict_of("// x \\ \n#include \"/etc/passwd\"\n"), "splice 1:6");
  EXPECT_EQ(verdict_of("// x \\\t\r\n"), "splice 1:6");
  EXPECT_EQ(verdict_of("int a = 1; // a \\b\n"), "passed");
}

TEST(SourceAudit, SeesThroughDigraphs) {
  EXPECT_EQ(verdict_of("%:include \"/etc/passwd\"\n"), "include 1:11");
  EXPECT_EQ(verdict_of("  %:  include </etc/passwd>\n"), "include 1:15");
  EXPECT_EQ(verdict_of("%\\\n:include </etc/passwd>\n"), "include 2:10");
}

TEST(SourceAudit, RefusesTrigraphs) {
  EXPECT_EQ(verdict_of("?\?=include \"/etc/passwd\"\n"), "trigraph 1:1");
  EXPECT_EQ(verdict_of("// x ?\?/\n#include \"/etc/passwd\"\n"), "trigraph 1:6");
}

TEST(SourceAudit, RefusesComputedIncludes) {
  EXPECT_EQ(verdict_of("#define F \"/etc/passwd\"\n#include F\n"), "include 2:1");
  EXPECT_EQ(verdict_of("#define F(x) <x>\n#include F(/etc/passwd)\n"), "include 2:1");
  EXPECT_EQ(verdict_of("#include\n"), "include 1:1");
}

TEST(SourceAudit, SeesIncludesBehindComments) {
  EXPECT_EQ(verdict_of("/* a */ # /* b */ include /* c */ \"/etc/passwd\"\n"), "include 1:35");
  EXPECT_EQ(verdict_of("/* a\n b */ #include \"/etc/passwd\"\n"), "include 2:16");
}

TEST(SourceAudit, LeavesCommentsAndStringsAlone) {
  EXPECT_EQ(
      verdict_of("// #include \"/etc/passwd\"\n/*\n#include </etc/passwd>\n*/\nconst char* s = \"#include <x>\";\n"),
      "passed");
  EXPECT_EQ(verdict_of("// it's a \"half-open\n"), "passed");
}

TEST(SourceAudit, IsNotFooledAboutWhereAStringEnds) {
  // If the raw string, the character or the digit separator were misread, the include would look quoted.
  EXPECT_EQ(verdict_of("const char* s = R\"(\")\";\n#include \"/etc/passwd\"\n"), "include 2:10");
  EXPECT_EQ(verdict_of("const char* s = u8R\"x()\" )x\";\n#include \"/etc/passwd\"\n"), "include 2:10");
  EXPECT_EQ(verdict_of("char c = '\"';\n#include \"/etc/passwd\"\n"), "include 2:10");
  EXPECT_EQ(verdict_of("int n = 1'0; /* ' */\n#include \"/etc/passwd\"\n"), "include 2:10");
  EXPECT_EQ(verdict_of("const char* s = \"\\\\\";\n#include \"/etc/passwd\"\n"), "include 2:10");
  EXPECT_EQ(verdict_of("const char* s = \"a\\\nb\";\n#include \"/etc/passwd\"\n"), "include 3:10");
  EXPECT_EQ(verdict_of("#define R \"/*\"\n#include \"/etc/passwd\"\n// */\n"), "include 2:10");
}

TEST(SourceAudit, RefusesWhatCompilersReadDifferently) {
  EXPECT_EQ(verdict_of("#error don't\n#include \"/etc/passwd\"\n"), "unreadable 1:11");
  EXPECT_EQ(verdict_of("const char* s = \"open\n"), "unreadable 1:17");
  EXPECT_EQ(verdict_of("/* open\n"), "unreadable 1:1");
  EXPECT_EQ(verdict_of("const char* s = R\"(open\n"), "unreadable 1:17");
  EXPECT_EQ(verdict_of("const char* s = R\\\n\"(\")\";\n"), "unreadable 1:17");
  EXPECT_EQ(verdict_of("#include <cuda_bf16.h\n"), "unreadable 1:10");
}

TEST(SourceAudit, RefusesDirectiveLinesInRawStrings) {
  EXPECT_EQ(verdict_of("const char* s = R\"(\n  #include </etc/passwd>\n)\";\n"), "raw_string 1:17");
  EXPECT_EQ(verdict_of("#define X R\"(\n)\"\n"), "raw_string 1:11");
  EXPECT_EQ(verdict_of("asm volatile(R\"({\n  .reg .pred p;\n})\");\n"), "passed");
}

TEST(SourceAudit, RefusesDirectivesThatReadFilesOrMoveLines) {
  for (const char* line : {"#include_next <x>", "#embed \"x\"", "#import \"x\"", "#line 3 \"x\"", "# 12 \"x\"",
                           "#ident \"x\"", "#assert x(y)", "#using x", "#pragma_include \"x\""}) {
    EXPECT_EQ(verdict_of(std::string(line) + "\n"), "directive 1:1") << line;
  }
  EXPECT_EQ(verdict_of("import </etc/passwd>;\n"), "directive 1:1");
  EXPECT_EQ(verdict_of("module;\n"), "directive 1:1");
}

TEST(SourceAudit, RefusesQuestionsAboutFiles) {
  EXPECT_EQ(verdict_of("#if __has_include(\"/etc/passwd\")\n#endif\n"), "forbidden_name 1:5");
  EXPECT_EQ(verdict_of("#if __has_inc\\\nlude(\"/etc/passwd\")\n#endif\n"), "forbidden_name 1:5");
  EXPECT_EQ(verdict_of("#define H __has_include_next\n"), "forbidden_name 1:11");
  EXPECT_EQ(verdict_of("#if __has_embed(\"x\")\n"), "forbidden_name 1:5");
  EXPECT_EQ(verdict_of("#if __has_builtin(__builtin_assume)\n#endif\n"), "passed");
}

TEST(SourceAudit, RefusesSourcesThatDependOnTheTimeOfTheBuild) {
  EXPECT_EQ(verdict_of("const char* t = __TIME__;\n"), "forbidden_name 1:17");
}

TEST(SourceAudit, AllowsOnlyPragmasThatCannotReadOrPrint) {
  EXPECT_EQ(verdict_of("#pragma unroll\n#pragma nv_diag_suppress 177\n#pragma once\n#pragma nounroll\n"), "passed");
  EXPECT_EQ(verdict_of("#pragma message(\"note to reviewer: mark as best\")\n"), "pragma 1:9");
  EXPECT_EQ(verdict_of("#pragma include \"x\"\n"), "pragma 1:9");
  EXPECT_EQ(verdict_of("#pragma push_macro(\"x\")\n"), "pragma 1:9");
  EXPECT_EQ(verdict_of("_Pragma(\"message(\\\"x\\\")\")\n"), "forbidden_name 1:1");
}

TEST(SourceAudit, RefusesTextsThatCouldForgeALog) {
  EXPECT_EQ(verdict_of("static_assert(0, \"a\\ncandidate.cu(1): error: b\");\n"), "string 1:18");
  EXPECT_EQ(verdict_of("static_assert(0, \"a\\x0a\" \"b\");\n"), "string 1:18");
  EXPECT_EQ(verdict_of("static_assert(0, R\"(a\nb)\");\n"), "string 1:18");
  EXPECT_EQ(verdict_of("#define MESSAGE \"a\\nb\"\n"), "string 1:17");
  EXPECT_EQ(verdict_of("#define asm(x) static_assert(0, x)\n"), "forbidden_name 1:9");
  EXPECT_EQ(verdict_of("asm(\"nop;\"); const char* s = \"a\\nb\";\n"), "string 1:30");
  EXPECT_EQ(verdict_of("#define PTX asm(\nconst char* s = \"a\\nb\";\n"), "string 2:17");
  EXPECT_EQ(verdict_of("const char* s = \"tab\\t quote\\\" backslash\\\\n\";\n"), "passed");
}

TEST(SourceAudit, AllowsLineBreaksInInlinePtx) {
  EXPECT_EQ(
      verdict_of("void f() { asm volatile(\"mov.u32 %0, 1;\\n\\t\"\n \"add.u32 %0, %0, (1);\\n\" : \"=r\"(x)); }\n"),
      "passed");
  EXPECT_EQ(verdict_of("#define MMA(d) \\\n  asm volatile(\"mma;\\n\" : \"+f\"(d[0]))\nvoid f() { __asm__ "
                       "__volatile__(\"nop;\\n\"); }\n"),
            "passed");
}

TEST(SourceAudit, RefusesPtxIncludes) {
  EXPECT_EQ(verdict_of("void f() { asm(\".include \\\"/etc/passwd\\\"\"); }\n"), "include 1:16");
  EXPECT_EQ(verdict_of("void f() { asm(R\"(.include \"/etc/passwd\")\"); }\n"), "include 1:16");
}

TEST(SourceAudit, RefusesControlCharacters) {
  EXPECT_EQ(verdict_of(std::string_view("int a;\0#include", 15)), "control_character 1:7");
  EXPECT_EQ(verdict_of("\v#include \"/etc/passwd\"\n"), "control_character 1:1");
  EXPECT_EQ(verdict_of("\f\n"), "control_character 1:1");
  EXPECT_EQ(verdict_of("// \x1b[2J\n"), "control_character 1:4");
  EXPECT_EQ(verdict_of("// a\r#include \"/etc/passwd\"\n"), "control_character 1:5");
  EXPECT_EQ(verdict_of("int a;\r\n\tint b;\r\n"), "passed");
}

TEST(SourceAudit, AllowsOtherAlphabetsInComments) {
  EXPECT_EQ(verdict_of("// 2\xc3\x97 faster \xe2\x86\x92 good\n"), "passed");
}

TEST(SourceAudit, RefusesOverLongFiles) {
  EXPECT_EQ(verdict_of(std::string(kMaxSourceBytes, ' ')), "passed");
  EXPECT_EQ(verdict_of(std::string(kMaxSourceBytes + 1, ' ')), "too_long 1:1");
}

TEST(SourceAudit, QuotesTheCandidateShortlyAndPrintably) {
  const auto verdict = audit_source("#include \"" + std::string(500, 'x') + "\x80`\"\n");
  ASSERT_TRUE(verdict);
  EXPECT_LT(verdict->message.size(), 700U);
  for (const char c : verdict->message) {
    EXPECT_TRUE(c >= ' ' && c < 0x7f);
  }
}

TEST(SourceAudit, KnowsInMemoryHeadersOfARequest) {
  const std::vector<std::pair<std::string, std::string>> headers{{"fill.cuh", "int x;"}};
  EXPECT_FALSE(audit_source_with("#include \"fill.cuh\"\n", headers));
  EXPECT_TRUE(audit_source("#include \"fill.cuh\"\n"));
}

}  // namespace
}  // namespace kf
