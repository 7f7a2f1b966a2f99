// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cstdint>
#include <optional>
#include <stop_token>
#include <string>
#include <vector>

#include <kfactory/factory.h>

namespace kf {

// Why an admission has no report.
enum class NotRun : std::uint8_t {
  kNo,           // it has one
  kNoDevice,     // nothing is executed at all
  kSpec,         // the spec lacks what it takes
  kRig,          // the device, its process or its time ended first
  kInterrupted,  // by the person
};

// The admission of a spec: what was tried, or why it was not and what to do.
struct Admission {
  std::optional<AdmissionReport> report;
  NotRun not_run = NotRun::kNo;
  std::string why_not;
};

// What `kfactory check` finds beyond what the parser refuses.
struct SpecCheck {
  std::int64_t cases = 0;             // of all sets
  std::vector<std::string> built;     // "reference rmsnorm_fwd.ref.cu", "baseline naive": for every case
  std::vector<std::string> problems;  // empty: nothing is wrong
  // What the cases cannot tell from right, and what to add: name, what would be there, what is. They refuse nothing.
  std::vector<AdmissionRow> warnings;
  Admission admission;
};

// Compiles the reference and the CUDA baselines for every case; then, where there is a device, admits the spec: null
// candidates must fail, the naive baseline must pass, every input must matter.
SpecCheck check_spec(const Factory& factory, std::int32_t compile_jobs, std::stop_token stop);

// The admission alone: before every run.
Admission admit(const Factory& factory, std::int32_t compile_jobs, std::stop_token stop);

}  // namespace kf
