// SPDX-License-Identifier: Apache-2.0
#include "compile/ptx_flow.h"

#include <gtest/gtest.h>

#include "compile/binary_facts.h"

namespace kf {
namespace {

// "written: a b; escaping: c; registers: %x" of a kernel with some variables and registers at hand. x is a pointer
// parameter.
std::string facts_of(const std::string& code, const std::string& more = "") {
  const std::string ptx =
      ".version 9.0\n.target sm_90a\n.address_size 64\n"
      ".global .align 4 .b8 memo[64];\n.global .align 4 .b8 lut[64] = {1, 2};\n.const .align 4 .b8 bank[64];\n" +
      more +
      "\n.visible .entry k(.param .u64 px, .param .u32 pn)\n{\n.reg .b32 %r<20>; .reg .b64 %rd<20>; .reg .f32 %f<9>; "
      ".reg .pred %p<9>;\n"
      ".local .align 8 .b8 depot[64]; .shared .align 8 .b8 sh[64];\n"
      "ld.param.u64 %rd1, [px]; ld.param.u32 %r1, [pn];\n" +
      code + "\nret;\n}\n";
  const BinaryFacts facts = scan_binary(ptx, nullptr);
  if (!facts.unreadable.empty()) {
    return facts.unreadable;
  }
  std::string text;
  const auto list = [&text](const char* name, const std::vector<std::string>& names) {
    if (!names.empty()) {
      text += (text.empty() ? "" : "; ") + std::string(name);
      for (const std::string& item : names) {
        text += " " + item;
      }
    }
  };
  list("written", facts.written_globals);
  list("escaping", facts.escaping_globals);
  list("registers", facts.special_registers);
  list("undefined", facts.undefined_symbols);
  return text.empty() ? "clean" : text;
}

// ---- what is fine ----

TEST(PtxFlow, AllowsTablesThatAreOnlyRead) {
  EXPECT_EQ(facts_of("ld.global.f32 %f1, [lut+4]; ld.global.nc.f32 %f2, [lut]; ld.const.f32 %f3, [bank];"), "clean");
  EXPECT_EQ(facts_of("mov.u64 %rd2, lut; mul.wide.s32 %rd3, %r1, 4; add.s64 %rd4, %rd2, %rd3; ld.global.f32 %f1, "
                     "[%rd4]; st.global.f32 [%rd1], %f1;"),
            "clean");
  EXPECT_EQ(
      facts_of(
          "mov.u64 %rd2, lut; mad.wide.s32 %rd3, %r1, 4, %rd2; ld.global.f32 %f1, [%rd3]; st.global.f32 [%rd1], %f1;"),
      "clean");
}

TEST(PtxFlow, AllowsWalkingATableToItsEnd) {
  EXPECT_EQ(facts_of("mov.u64 %rd2, lut; add.s64 %rd3, %rd2, 64; mov.u64 %rd4, %rd2;\n"
                     "L: ld.global.f32 %f1, [%rd4]; add.s64 %rd4, %rd4, 4; setp.ne.s64 %p1, %rd4, %rd3; @%p1 bra L;"),
            "clean");
}

TEST(PtxFlow, AllowsChoosingBetweenTables) {
  EXPECT_EQ(facts_of("mov.u64 %rd2, lut; mov.u64 %rd3, memo; setp.eq.s32 %p1, %r1, 0; selp.b64 %rd4, %rd2, %rd3, %p1; "
                     "ld.global.f32 %f1, [%rd4]; st.global.f32 [%rd1], %f1;"),
            "clean");
}

TEST(PtxFlow, AllowsTableAddressesInLocalAndSharedMemory) {
  EXPECT_EQ(facts_of("mov.u64 %rd2, lut; mov.u64 %rd3, depot; st.local.u64 [%rd3+8], %rd2; ld.local.u64 %rd4, [%rd3]; "
                     "ld.global.f32 %f1, [%rd4]; st.global.f32 [%rd1], %f1;"),
            "clean");
  EXPECT_EQ(facts_of("mov.u64 %rd2, lut; st.shared.u64 [sh], %rd2; ld.shared.u64 %rd4, [sh+8]; ld.global.f32 %f1, "
                     "[%rd4]; st.global.f32 [%rd1], %f1;"),
            "clean");
}

TEST(PtxFlow, AllowsTablesOfTables) {
  EXPECT_EQ(facts_of("ld.global.u64 %rd2, [tables+8]; ld.global.f32 %f1, [%rd2]; st.global.f32 [%rd1], %f1;",
                     ".global .align 8 .u64 tables[2] = {generic(lut), generic(lut)+8};"),
            "clean");
}

TEST(PtxFlow, AllowsFunctionsThatReadTables) {
  const std::string look =
      ".func (.param .b32 r) look(.param .b64 t, .param .b32 i) { .reg .b64 %rd<4>; .reg .b32 %r<4>; ld.param.u64 "
      "%rd1, [t]; ld.param.u32 %r1, [i];"
      " mad.wide.s32 %rd2, %r1, 4, %rd1; ld.u32 %r2, [%rd2]; st.param.b32 [r], %r2; ret; }";
  EXPECT_EQ(facts_of("mov.u64 %rd2, lut; cvta.global.u64 %rd3, %rd2; { .param .b64 a; st.param.b64 [a], %rd3; .param "
                     ".b32 b; st.param.b32 [b], %r1; .param .b32 c;"
                     " call.uni (c), look, (a, b); ld.param.b32 %r2, [c]; } st.global.u32 [%rd1], %r2;",
                     look),
            "clean");
}

TEST(PtxFlow, AllowsUnusedVariables) {
  EXPECT_EQ(facts_of("", ".global .align 4 .u32 unused;"), "clean");
}

TEST(PtxFlow, AllowsTilesCopiedFromATable) {
  EXPECT_EQ(facts_of("mov.u64 %rd2, lut; cvta.to.global.u64 %rd2, %rd2; mov.u32 %r2, sh; cp.async.ca.shared.global "
                     "[%r2], [%rd2], 16; ld.shared.f32 %f1, [sh]; st.global.f32 [%rd1], %f1;"),
            "clean");
}

// ---- writes ----

TEST(PtxFlow, SeesDirectWrites) {
  for (const char* code :
       {"st.global.u32 [memo], %r1;", "st.u32 [memo+8], %r1;", "atom.global.add.u32 %r2, [memo], 1;",
        "red.global.add.u32 [memo], 1;", "mov.u64 %rd2, memo; st.global.v2.u32 [%rd2+8], {%r1, %r1};",
        "mov.u64 %rd2, memo; cvta.global.u64 %rd3, %rd2; st.u32 [%rd3], %r1;",
        "mov.u64 %rd2, memo; atom.global.cas.b32 %r2, [%rd2], 0, 1;",
        "cp.reduce.async.bulk.global.shared::cta.bulk_group.add.u32 [memo], [sh], 16;",
        "cp.async.bulk.global.shared::cta.bulk_group [memo], [sh], 16;", "@%p1 st.global.u32 [memo], %r1;",
        "multimem.red.global.add.u32 [memo], %r1;", "st.async.weak.global.u32 [memo], %r1;",
        "unheard.of.op [memo], %r1;", "discard.global.L2 [memo], 128;", "mbarrier.init.b64 [memo], 1;"}) {
    EXPECT_EQ(facts_of(code), "written memo") << code;
  }
}

TEST(PtxFlow, SeesWritesThroughArithmetic) {
  for (const char* code :
       {"mov.u64 %rd2, memo; add.s64 %rd3, %rd2, 8; st.global.u32 [%rd3], %r1;",
        "mov.u64 %rd2, memo; xor.b64 %rd3, %rd2, -1; xor.b64 %rd4, %rd3, -1; st.u32 [%rd4], %r1;",
        "mov.u64 %rd2, memo; mov.b64 {%r2, %r3}, %rd2; mov.b64 %rd4, {%r2, %r3}; st.u32 [%rd4], %r1;",
        "mov.u64 %rd2, memo; setp.eq.s32 %p1, %r1, 0; selp.b64 %rd3, %rd1, %rd2, %p1; st.u32 [%rd3], %r1;",
        "mov.u64 %rd2, memo; shfl.sync.idx.b32 %r2, %r1, 0, 31, -1; mad.wide.s32 %rd3, %r2, 4, %rd2; st.u32 [%rd3], "
        "%r1;",
        "mov.u64 %rd2, memo; min.u64 %rd3, %rd2, %rd1; st.u32 [%rd3], %r1;"}) {
    EXPECT_EQ(facts_of(code), "written memo") << code;
  }
}

TEST(PtxFlow, SeesWritesThroughRegistersThatNothingSets) {
  EXPECT_EQ(facts_of("mov.u64 %rd2, memo; add.u64 %rd3, %rd2, %rd9; st.u32 [%rd3], %r1;"), "written memo");
}

TEST(PtxFlow, SeesWritesWhateverTheOrderOfInstructions) {
  EXPECT_EQ(facts_of("bra B; A: st.u32 [%rd3], %r1; ret; B: mov.u64 %rd2, memo; mov.u64 %rd3, %rd2; bra A;"),
            "written memo");
}

TEST(PtxFlow, SeesWritesThroughMemoryAndTables) {
  EXPECT_EQ(
      facts_of("mov.u64 %rd2, memo; st.local.u64 [depot], %rd2; ld.local.u64 %rd3, [depot+16]; st.u32 [%rd3], %r1;"),
      "written memo");
  EXPECT_EQ(facts_of("ld.global.u64 %rd2, [tables]; st.u32 [%rd2], %r1;",
                     ".global .align 8 .u64 tables[1] = {generic(memo)};"),
            "written memo");
}

TEST(PtxFlow, SeesWritesInsideCalledFunctions) {
  const std::string put =
      ".func put(.param .b64 t) { .reg .b64 %rd<4>; ld.param.u64 %rd1, [t]; st.u32 [%rd1], 7; ret; }";
  EXPECT_EQ(facts_of("mov.u64 %rd2, memo; { .param .b64 a; st.param.b64 [a], %rd2; call.uni put, (a); }", put),
            "written memo");
  EXPECT_EQ(facts_of("mov.u64 %rd2, memo; call.uni put, (%rd2);", put), "written memo");
  EXPECT_EQ(facts_of("mov.u64 %rd2, memo; mov.u64 %rd3, put; { .param .b64 a; st.param.b64 [a], %rd2; P: "
                     ".callprototype _ (.param .b64 _); call %rd3, (a), P; }",
                     put),
            "written memo");
}

TEST(PtxFlow, SeesWritesThroughReturnedAddresses) {
  const std::string give =
      ".func (.param .b64 r) give() { .reg .b64 %rd<4>; mov.u64 %rd1, memo; st.param.b64 [r], %rd1; ret; }";
  EXPECT_EQ(facts_of("{ .param .b64 a; call.uni (a), give; ld.param.b64 %rd2, [a]; } st.u32 [%rd2], %r1;", give),
            "written memo");
}

TEST(PtxFlow, SeesVariablesInsideInlineBlocks) {
  EXPECT_EQ(
      facts_of("{ .global .u32 hid; .reg .u32 t; ld.global.u32 t, [hid]; add.u32 t, t, 1; st.global.u32 [hid], t; }"),
      "written hid");
}

// ---- escapes ----

TEST(PtxFlow, SeesAddressesThatAreStoredWhereOthersRead) {
  EXPECT_EQ(facts_of("mov.u64 %rd2, memo; cvta.global.u64 %rd3, %rd2; st.global.u64 [%rd1], %rd3;"), "escaping memo");
  EXPECT_EQ(facts_of("mov.u64 %rd2, memo; shr.u64 %rd3, %rd2, 5; st.u64 [%rd1], %rd3;"), "escaping memo");
  EXPECT_EQ(facts_of("mov.u64 %rd2, memo; atom.global.exch.b64 %rd3, [%rd1], %rd2;"), "escaping memo");
  EXPECT_EQ(facts_of("mov.u64 %rd2, memo; cvt.u32.u64 %r2, %rd2; st.u32 [%rd1], %r2;"), "escaping memo");
}

TEST(PtxFlow, SeesAddressesThatLeaveBitByBit) {
  EXPECT_EQ(facts_of("mov.u64 %rd2, memo; and.b64 %rd3, %rd2, 64; setp.ne.s64 %p1, %rd3, 0; selp.b32 %r2, 1, 0, %p1;"),
            "escaping memo");
  EXPECT_EQ(facts_of("mov.u64 %rd2, memo; setp.gt.u64 %p1, %rd2, 4096;"), "escaping memo");
  EXPECT_EQ(facts_of("mov.u64 %rd2, memo; add.s64 %rd3, %rd2, %rd1; setp.lt.u64 %p1, %rd3, %rd2;"), "escaping memo");
  EXPECT_EQ(facts_of("mov.u64 %rd2, memo; or.b64 %rd3, %rd2, 64; setp.eq.u64 %p1, %rd3, %rd2;"), "escaping memo");
  EXPECT_EQ(
      facts_of(
          "mov.u64 %rd2, memo; setp.eq.s32 %p1, %r1, 0; selp.b64 %rd3, %rd2, 0, %p1; setp.eq.u64 %p2, %rd3, %rd2;"),
      "escaping memo");
  EXPECT_EQ(
      facts_of("mov.u64 %rd2, memo; cvt.u32.u64 %r2, %rd2; and.b32 %r3, %r2, 1; brx.idx %r3, T; T: .branchtargets T;"),
      "escaping memo");
}

TEST(PtxFlow, SeesAddressesThatLeaveThroughATable) {
  // id[(address >> 4) & 15] is a copy of four bits of the address.
  EXPECT_EQ(facts_of("mov.u64 %rd2, memo; shr.u64 %rd3, %rd2, 4; and.b64 %rd4, %rd3, 15; mov.u64 %rd5, lut; add.s64 "
                     "%rd6, %rd5, %rd4; ld.global.u8 %r2, [%rd6]; st.u32 [%rd1], %r2;"),
            "escaping lut memo");
}

TEST(PtxFlow, SeesAddressesPassedToUnknownCode) {
  const std::string outside = ".extern .func mystery (.param .b64 a);";
  EXPECT_EQ(facts_of("mov.u64 %rd2, memo; { .param .b64 a; st.param.b64 [a], %rd2; call.uni mystery, (a); }", outside),
            "escaping memo; undefined mystery");
}

// ---- registers that tell ----

TEST(PtxFlow, ListsRegistersThatTellTimeOrLaunches) {
  EXPECT_EQ(facts_of("mov.u64 %rd2, %clock64; mov.u32 %r2, %clock; mov.u64 %rd3, %gridid; mov.u32 %r3, %envreg3; "
                     "mov.u32 %r4, %tid.x; mov.u32 %r5, %smid;"),
            "registers %clock %clock64 %envreg3 %gridid");
  EXPECT_EQ(facts_of("mov.u64 %rd2, %globaltimer; st.global.u64 [%rd1], %rd2;"), "registers %globaltimer");
  EXPECT_EQ(facts_of("mov.u64 %rd2, %current_graph_exec;"), "registers %current_graph_exec");
}

TEST(PtxFlow, DoesNotMistakeRegistersOfTheCandidateForThem) {
  EXPECT_EQ(facts_of(".reg .b32 clock; mov.u32 clock, 1; st.global.u32 [%rd1], clock;"), "clean");
}

const std::string kWait =
    "mov.u64 %rd2, %globaltimer;\n"
    "W: ld.acquire.gpu.u32 %r2, [%rd1]; setp.ne.s32 %p1, %r2, 0; @%p1 bra DONE;\n"
    "mov.u64 %rd3, %globaltimer; sub.s64 %rd4, %rd3, %rd2; setp.lt.s64 %p2, %rd4, 40000; @%p2 bra W;\n";

TEST(PtxTimer, AllowsATimeThatOnlyChoosesHowLongToSleep) {
  EXPECT_EQ(
      facts_of("mov.u64 %rd2, %globaltimer;\n"
               "W: ld.acquire.gpu.u32 %r2, [%rd1]; setp.ne.s32 %p1, %r2, 0; @%p1 bra DONE;\n"
               "mov.u64 %rd3, %globaltimer; sub.s64 %rd4, %rd3, %rd2; setp.lt.s64 %p2, %rd4, 40000; @%p2 bra SHORT;\n"
               "nanosleep.u32 1000000; bra W;\n"
               "SHORT: cvt.u32.u64 %r3, %rd4; nanosleep.u32 %r3; bra W;\n"
               "DONE: st.global.u32 [%rd1], 3;"),
      "clean");
}

TEST(PtxTimer, RefusesATimeThatReachesMemory) {
  EXPECT_EQ(facts_of("mov.u64 %rd2, %globaltimer; and.b64 %rd3, %rd2, 1; add.s64 %rd4, %rd1, %rd3; st.u32 [%rd4], 1;"),
            "registers %globaltimer");
  EXPECT_EQ(
      facts_of("mov.u32 %r2, %globaltimer_lo; setp.gt.u32 %p1, %r2, 9; selp.b32 %r3, 1, 0, %p1; st.u32 [%rd1], %r3;"),
      "registers %globaltimer_lo");
  EXPECT_EQ(facts_of("mov.u64 %rd2, %globaltimer; setp.gt.u64 %p1, %rd2, 9; @%p1 st.u32 [%rd1], 1;"),
            "registers %globaltimer");
}

TEST(PtxTimer, RefusesATimeThatChoosesWhatHappens) {
  EXPECT_EQ(
      facts_of(
          "mov.u64 %rd2, %globaltimer; setp.gt.u64 %p1, %rd2, 9; @%p1 bra A; st.u32 [%rd1], 1; A: st.u32 [%rd1], 2;"),
      "registers %globaltimer");
  EXPECT_EQ(facts_of("mov.u64 %rd2, %globaltimer; setp.gt.u64 %p1, %rd2, 9; mov.u32 %r2, 0; @%p1 bra A; mov.u32 %r2, "
                     "1; A: st.u32 [%rd1], %r2;"),
            "registers %globaltimer");
  EXPECT_EQ(facts_of("mov.u64 %rd2, %globaltimer; setp.gt.u64 %p1, %rd2, 9; @%p1 bra A; bar.sync 0; A: ;"),
            "registers %globaltimer");
  EXPECT_EQ(facts_of("mov.u64 %rd2, %globaltimer; setp.gt.u64 %p1, %rd2, 9; @%p1 ret; st.u32 [%rd1], 1;"),
            "registers %globaltimer");
}

TEST(PtxTimer, RefusesSpinningForATime) {
  EXPECT_EQ(facts_of("mov.u64 %rd2, %globaltimer; W: mov.u64 %rd3, %globaltimer; sub.s64 %rd4, %rd3, %rd2; setp.lt.s64 "
                     "%p1, %rd4, 2000; @%p1 bra W;"),
            "registers %globaltimer");
  EXPECT_EQ(facts_of(kWait + "DONE: st.u32 [%rd1], 1;"), "registers %globaltimer");  // gives up waiting after a while
}

TEST(BinaryFacts, SayWhenThePtxIsTooLargeToFollow) {
  // Every register may hold the address of every variable.
  std::string variables, code;
  for (int i = 0; i < 1500; ++i) {
    const std::string n = std::to_string(i);
    variables += ".global .u32 v" + n + ";\n";
    code += ".reg .b64 a" + n + ";\nmov.u64 a" + n + ", v" + n + ";\n";
  }
  for (int i = 0; i < 1500; ++i) {
    code += "selp.b64 a" + std::to_string((i * 7 + 1) % 1500) + ", a" + std::to_string(i) + ", a" +
            std::to_string((i + 1) % 1500) + ", %p1;\n";
  }
  const std::string facts = facts_of(code, variables);
  EXPECT_TRUE(facts == "clean" || facts.find("too large") != std::string::npos) << facts.substr(0, 200);
}

TEST(BinaryFacts, SayWhenThePtxCannotBeRead) {
  EXPECT_NE(facts_of("nonsense [ ;").find("PTX line"), std::string::npos);
}

TEST(BinaryFacts, NameARegisterOfInlinePtxThatNothingSets) {
  EXPECT_NE(facts_of("{ .reg .u32 old; mov.u32 %r2, old; }").find("reads the register old"), std::string::npos);
  EXPECT_NE(facts_of("{ .reg .b32 t<3>; mov.u32 %r2, t1; }").find("reads the register t1"), std::string::npos);
  EXPECT_NE(facts_of("{ .reg .pred q; @q mov.u32 %r2, 1; }").find("reads the register q"), std::string::npos);
  EXPECT_NE(facts_of("{ .reg .b32 v; st.global.u32 [%rd1], v; }").find("reads the register v"), std::string::npos);
  EXPECT_EQ(facts_of("{ .reg .u32 set; mov.u32 set, %r1; mov.u32 %r2, set; }"), "clean");
  EXPECT_EQ(facts_of("{ .reg .pred q, p; setp.eq.u32 q|p, %r1, 0; @p mov.u32 %r2, 1; @!q mov.u32 %r2, 2; }"), "clean");
  EXPECT_EQ(facts_of("{ .reg .b32 a, b; mov.b64 {a, b}, %rd1; add.u32 %r2, a, b; }"), "clean");
  EXPECT_EQ(facts_of("{ .reg .b32 unused; mov.u32 %r2, %r1; }"), "clean");
  // The compiler's own, where a value does not matter:
  EXPECT_EQ(facts_of("mov.u32 %r2, %r19;"), "clean");
}

TEST(BinaryFacts, MustAgreeWithTheCubin) {
  const std::string ptx =
      ".version 9.0\n.target sm_90a\n.address_size 64\n.global .u32 seen;\n.entry k() { { .global .u32 hid; } ret; }\n";
  CubinFacts cubin;
  cubin.entries = {{"k"}};
  cubin.variables = {{"seen", ".nv.global", 4}, {"$__hid__298$1", ".nv.global", 4}};
  EXPECT_EQ(scan_binary(ptx, &cubin).unreadable, "");
  cubin.variables.push_back({"unseen", ".nv.global", 4});
  EXPECT_NE(scan_binary(ptx, &cubin).unreadable.find("unseen"), std::string::npos);
  cubin.variables.pop_back();
  cubin.entries.push_back({"sneaky"});
  EXPECT_NE(scan_binary(ptx, &cubin).unreadable.find("sneaky"), std::string::npos);
  cubin.entries.clear();
  EXPECT_NE(scan_binary(ptx, &cubin).unreadable.find("k"), std::string::npos);
}

}  // namespace
}  // namespace kf
