// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <string>
#include <vector>

#include <kfactory/factory.h>

#include "factory/spec_check.h"

// JSON that other programs read (docs/formats/cli.md). One object each, compact, keys in a fixed order.

namespace kf {

// The device of a command, and how it was come by: why it is no GPU, why no emulator goes before one; empty: no word.
struct ReportedDevice {
  const DeviceFacts& facts;
  std::string note = {};
};

std::string event_report(const Event& event);
// `go_on`: the command that resumes the run; empty: none.
std::string run_report(const RunResult& result, const std::string& folder, const ReportedDevice& device, int exit_code,
                       const std::string& go_on);
// `candidate`: its path; `source`: its text, for the lines that refusals are about.
std::string eval_report(const Spec& spec, const std::string& candidate, const std::string& source,
                        const Evaluation& evaluation, const ReportedDevice& device);
std::string check_report(const Spec& spec, const SpecCheck& check, const ReportedDevice& device);
std::string show_report(const std::vector<Attempt>& attempts);

// One winner, measured again.
struct BenchResult {
  AttemptId attempt;
  Evaluation evaluation;
};
std::string bench_report(const Spec& spec, const std::vector<BenchResult>& results, const ReportedDevice& device);
std::string bench_csv(const std::vector<BenchResult>& results);

}  // namespace kf
