// SPDX-License-Identifier: Apache-2.0
// kfactory check SPEC: is this spec sound?
#include <algorithm>

#include "commands.h"
#include "factory/spec_check.h"
#include "os/steady_clock.h"
#include "parts.h"
#include "reports.h"

namespace kf {
namespace {

void print_warnings(Console& console, const std::vector<AdmissionRow>& warnings) {
  if (warnings.empty()) {
    return;
  }
  console.line("warnings: what the check cases cannot tell from right");
  Table table({"of", "would be", "is, and what to add"});
  for (const AdmissionRow& warning : warnings) {
    table.add({warning.name, warning.expected, warning.found});
  }
  console.table(table);
}

// Rows that are as they must be and differ only in where they were tried ("..., on check/M=7 (normal)") are one.
void print_rows(Console& console, const std::vector<AdmissionRow>& rows) {
  struct Group {
    AdmissionRow row;
    std::size_t times = 1;
  };
  std::vector<Group> groups;
  for (AdmissionRow row : rows) {
    const std::size_t where = row.name.find(", on ");
    if (!row.ok || where == std::string::npos) {
      groups.push_back({std::move(row)});
      continue;
    }
    row.name.resize(where);
    const auto same = std::ranges::find_if(groups, [&](const Group& of) {
      return of.row.ok && of.row.name == row.name && of.row.expected == row.expected && of.row.found == row.found;
    });
    if (same == groups.end()) {
      groups.push_back({std::move(row)});
    } else {
      ++same->times;
    }
  }
  Table table({"tried", "times", "expected", "found", ""});
  for (const Group& of : groups) {
    table.add({of.row.name, std::to_string(of.times), of.row.expected, of.row.found,
               !of.row.ok     ? "NOT AS IT MUST BE"
               : of.row.tried ? "ok"
                              : "NOT TRIED"});
  }
  console.table(table);
}

void print(Console& console, const Spec& spec, const SpecCheck& check, bool with_device) {
  console.line(spec.name + ": read, " + std::to_string(check.cases) + " cases", Ink::kGood);
  for (const std::string& line : check.built) {
    console.line("built: " + line, Ink::kGood);
  }
  for (const std::string& problem : check.problems) {
    console.line("wrong: " + problem, Ink::kBad);
  }
  const std::optional<AdmissionReport>& report = check.admission.report;
  if (!report) {
    print_warnings(console, check.warnings);
    if (!check.problems.empty()) {
      console.line("not sound: what is wrong stands above; admission not run", Ink::kBad);
    } else if (with_device) {
      console.line("not admitted: admission could not run: " + check.admission.why_not, Ink::kBad);
    } else {
      console.line("admission not run: " + check.admission.why_not +
                   "; nothing is wrong as far as can be seen without");
    }
    return;
  }
  print_rows(console, report->rows);
  print_warnings(console, check.warnings);
  const std::vector<AdmissionRow>& rows = report->rows;
  const auto untried = std::ranges::count_if(rows, [](const AdmissionRow& row) { return row.ok && !row.tried; });
  const std::string but =
      untried == 0 ? "" : ", though not everything could be tried: each row that is NOT TRIED says why";
  console.line(
      report->admitted ? "admitted" + but : "not admitted: each row that is NOT AS IT MUST BE says what to change",
      report->admitted ? Ink::kGood : Ink::kBad);
}

}  // namespace

int check_command(Session& session) {
  const Spec spec = read_spec(session.options.spec);
  SteadyClock clock;
  const std::unique_ptr<Compiler> compiler = open_compiler(session.settings);
  const Machine machine = open_machine(session, spec.arch);
  remark_device(session, machine);
  Factory factory;
  factory.spec = &spec;
  factory.facts = machine.facts;
  factory.compiler = compiler.get();
  factory.rig = machine.rig.get();
  factory.emulator = machine.emulator.get();
  factory.clock = &clock;
  show_progress(session, factory, session.options.spec);
  const SpecCheck check =
      check_spec(factory, static_cast<std::int32_t>(session.settings.count("run.compile_jobs")), session.stop);
  if (session.options.json) {
    session.console.line(check_report(spec, check, {machine.facts, machine.note}));
  } else {
    print(session.console, spec, check, machine.rig != nullptr);
  }
  if (session.stop.stop_requested()) {
    return exits::kInterrupted;
  }
  const Admission& admission = check.admission;
  const bool refused = admission.not_run == NotRun::kSpec || (admission.report && !admission.report->admitted);
  if (!check.problems.empty() || refused) {
    return exits::kUsage;
  }
  return admission.not_run == NotRun::kRig ? exits::kCannotGoOn : exits::kDone;
}

}  // namespace kf
