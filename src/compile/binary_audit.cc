// SPDX-License-Identifier: Apache-2.0
#include <kfactory/audit.h>

#include <algorithm>
#include <set>

namespace kf {
namespace {

Verdict refused(std::string reason, std::string message) {
  Verdict verdict;
  verdict.passed = false;
  verdict.gate = Gate::kBinaryAudit;
  verdict.reason = std::move(reason);
  verdict.message = std::move(message);
  return verdict;
}

// Names of the candidate in a message: few, short, printable.
std::string listed(const std::vector<std::string>& names) {
  std::string text;
  for (std::size_t i = 0; i < names.size() && i < 5; ++i) {
    text += (i == 0 ? "" : ", ") + names[i].substr(0, 80);
  }
  return names.size() > 5 ? text + " and " + std::to_string(names.size() - 5) + " more" : text;
}

std::optional<Verdict> audit_entries(const BinaryFacts& facts, const LaunchPlan& plan) {
  std::set<std::string> wanted, extra(facts.entries.begin(), facts.entries.end());
  for (const KernelSpec& kernel : plan.kernels) {
    wanted.insert(kernel.entry);
  }
  for (const std::string& entry : wanted) {
    if (extra.erase(entry) == 0) {
      return refused("missing_entry", "the plan launches the kernel `" + entry +
                                          "`, which the source does not define; it defines: " + listed(facts.entries) +
                                          ". Is it extern \"C\"?");
    }
  }
  if (!extra.empty()) {
    return refused("extra_entry", "kernels that the plan does not launch: " + listed({extra.begin(), extra.end()}) +
                                      ". Remove them, or add them to the plan");
  }
  return std::nullopt;
}

// The word of Spec::limits.allow that permits a special register; "cooperative" for what only such a launch may read.
std::string permission_for(std::string_view name) {
  if (name.starts_with("%envreg")) {
    return "cooperative";
  }
  if (name.starts_with("%clock")) {
    return "clock";
  }
  if (name.starts_with("%globaltimer")) {
    return "globaltimer";
  }
  return name.starts_with("%gridid") ? "gridid" : "";
}

std::optional<Verdict> audit_registers(const BinaryFacts& facts, const LaunchPlan& plan, const Spec& spec) {
  const bool cooperative = std::ranges::any_of(plan.kernels, &KernelSpec::cooperative);
  for (const std::string& name : facts.special_registers) {
    const std::string permission = permission_for(name);
    if (permission == "cooperative" ? cooperative
                                    : std::ranges::find(spec.limits.allow, permission) != spec.limits.allow.end()) {
      continue;
    }
    if (permission == "cooperative") {
      return refused("special_register", "the code reads " + name +
                                             " (a grid-wide synchronisation does), but no kernel of the "
                                             "plan is launched with \"cooperative\": true");
    }
    return refused("special_register",
                   "the code reads " + name + ", which tells time or one launch from another" +
                       (permission.empty() ? std::string("; it is never allowed")
                                           : "; this spec does not allow it (limits.allow would have to name \"" +
                                                 permission + "\")"));
  }
  return std::nullopt;
}

}  // namespace

std::optional<Verdict> audit_binary(const Build& build, const LaunchPlan& plan, const Spec& spec) {
  const BinaryFacts& facts = build.facts;
  if (!facts.unreadable.empty()) {
    return refused("unreadable", "the PTX cannot be audited: " + facts.unreadable.substr(0, 200));
  }
  if (auto verdict = audit_entries(facts, plan)) {
    return verdict;
  }
  if (!facts.undefined_symbols.empty()) {
    return refused("forbidden_symbol",
                   "the code calls " + listed(facts.undefined_symbols) +
                       ": device-side malloc, free, printf, assert and launches are not available to candidates");
  }
  if (!facts.written_globals.empty()) {
    return refused("written_global",
                   "instructions write the module variables " + listed(facts.written_globals) +
                       ": nothing may outlive a launch but the outputs. Use shared memory, or a workspace of the plan");
  }
  if (!facts.escaping_globals.empty()) {
    return refused("escaping_global",
                   "the address of the module variables " + listed(facts.escaping_globals) +
                       " is stored, compared or passed on where it cannot be followed. Tables are fine "
                       "when they are only indexed");
  }
  if (auto verdict = audit_registers(facts, plan, spec)) {
    return verdict;
  }
  if (facts.griddepcontrol && std::ranges::none_of(plan.kernels, &KernelSpec::pdl)) {
    return refused("griddepcontrol",
                   "the code uses griddepcontrol (programmatic dependent launch), but no kernel of the plan "
                   "is launched with \"pdl\": true");
  }
  return std::nullopt;
}

}  // namespace kf
