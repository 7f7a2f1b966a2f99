// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>
#include <kfactory/audit.h>

namespace kf {
namespace {

Build build_with(BinaryFacts facts) {
  Build build;
  build.facts = std::move(facts);
  return build;
}
BinaryFacts facts_with_entries(std::vector<std::string> entries) {
  BinaryFacts facts;
  facts.entries = std::move(entries);
  return facts;
}
LaunchPlan plan_of(std::vector<std::string> entries) {
  LaunchPlan plan;
  for (std::string& entry : entries) {
    KernelSpec kernel;
    kernel.id = entry;
    kernel.entry = std::move(entry);
    plan.kernels.push_back(std::move(kernel));
  }
  return plan;
}
std::string reason(const BinaryFacts& facts, const LaunchPlan& plan, const Spec& spec = {}) {
  const auto verdict = audit_binary(build_with(facts), plan, spec);
  if (!verdict) {
    return "passed";
  }
  EXPECT_EQ(verdict->gate, Gate::kBinaryAudit);
  EXPECT_FALSE(verdict->passed);
  EXPECT_FALSE(verdict->message.empty());
  return verdict->reason;
}

TEST(BinaryAudit, PassesExactlyThePlansKernels) {
  EXPECT_EQ(reason(facts_with_entries({"a", "b"}), plan_of({"b", "a"})), "passed");
  EXPECT_EQ(reason(facts_with_entries({"a"}), plan_of({"a", "a"})), "passed");  // launched twice
  EXPECT_EQ(reason(facts_with_entries({"a", "sneaky"}), plan_of({"a"})), "extra_entry");
  EXPECT_EQ(reason(facts_with_entries({"_Z1aPf"}), plan_of({"a"})), "missing_entry");
  EXPECT_EQ(reason(facts_with_entries({}), plan_of({"a"})), "missing_entry");
}

TEST(BinaryAudit, RefusesMemoryThatOutlivesALaunch) {
  BinaryFacts facts = facts_with_entries({"a"});
  facts.written_globals = {"memo"};
  EXPECT_EQ(reason(facts, plan_of({"a"})), "written_global");
  facts = facts_with_entries({"a"});
  facts.escaping_globals = {"memo"};
  EXPECT_EQ(reason(facts, plan_of({"a"})), "escaping_global");
}

TEST(BinaryAudit, RefusesWhatNeedsAnotherProgram) {
  BinaryFacts facts = facts_with_entries({"a"});
  facts.undefined_symbols = {"vprintf"};
  EXPECT_EQ(reason(facts, plan_of({"a"})), "forbidden_symbol");
}

TEST(BinaryAudit, RefusesPtxThatCannotBeRead) {
  BinaryFacts facts = facts_with_entries({"a"});
  facts.unreadable = "PTX line 3: junk";
  EXPECT_EQ(reason(facts, plan_of({"a"})), "unreadable");
}

TEST(BinaryAudit, AllowsTellingRegistersOnlyWhereTheSpecNamesThem) {
  for (const auto& [name, word] :
       {std::pair{"%clock64", "clock"}, {"%clock", "clock"}, {"%globaltimer", "globaltimer"}, {"%gridid", "gridid"}}) {
    BinaryFacts facts = facts_with_entries({"a"});
    facts.special_registers = {name};
    EXPECT_EQ(reason(facts, plan_of({"a"})), "special_register") << name;
    Spec spec;
    spec.limits.allow = {word};
    EXPECT_EQ(reason(facts, plan_of({"a"}), spec), "passed") << name;
  }
  BinaryFacts facts = facts_with_entries({"a"});
  facts.special_registers = {"%current_graph_exec"};
  Spec spec;
  spec.limits.allow = {"clock", "globaltimer", "gridid", ""};
  EXPECT_EQ(reason(facts, plan_of({"a"}), Spec{}), "special_register");
}

TEST(BinaryAudit, AllowsEnvironmentRegistersOnlyToCooperativeLaunches) {
  BinaryFacts facts = facts_with_entries({"a"});
  facts.special_registers = {"%envreg1", "%envreg2"};
  LaunchPlan plan = plan_of({"a"});
  EXPECT_EQ(reason(facts, plan), "special_register");
  plan.kernels[0].cooperative = true;
  EXPECT_EQ(reason(facts, plan), "passed");
}

TEST(BinaryAudit, AllowsGriddepcontrolOnlyWithPdl) {
  BinaryFacts facts = facts_with_entries({"a"});
  facts.griddepcontrol = true;
  LaunchPlan plan = plan_of({"a"});
  EXPECT_EQ(reason(facts, plan), "griddepcontrol");
  plan.kernels[0].pdl = true;
  EXPECT_EQ(reason(facts, plan), "passed");
}

TEST(BinaryAudit, BoundsTheNamesInItsMessages) {
  BinaryFacts facts = facts_with_entries({"a"});
  for (int i = 0; i < 100; ++i) {
    facts.written_globals.push_back(std::string(1000, 'x'));
  }
  const auto verdict = audit_binary(build_with(facts), plan_of({"a"}), {});
  ASSERT_TRUE(verdict);
  EXPECT_LT(verdict->message.size(), 800U);
}

}  // namespace
}  // namespace kf
