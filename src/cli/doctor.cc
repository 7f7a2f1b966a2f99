// SPDX-License-Identifier: Apache-2.0
// kfactory doctor: what this machine has, and what to do about what it lacks.
#include <sys/statvfs.h>

#include <fmt/format.h>

#include <algorithm>

#include "commands.h"
#include "devices.h"
#include "models.h"
#include "os/sandbox.h"
#include "os/steady_clock.h"
#include "os/toolkit.h"
#include "parts.h"

namespace kf {
namespace {

// A long text goes on in its own column.
void finding(Console& console, std::string_view what, std::string_view state, const std::string& text, Ink ink) {
  constexpr int kColumn = 20, kLeast = 20;
  const int columns = std::max(console.terminal().columns - kColumn, kLeast);
  std::string head = fmt::format("{:<10} {:<7}  ", what, state);
  for (const std::string& line : wrapped(text, static_cast<std::size_t>(columns))) {
    console.line(head + line, ink);
    head.assign(kColumn, ' ');
  }
}

// One thing looked at: fine, or what to do.
void report(Console& console, std::string_view what, bool good, const std::string& found,
            const std::string& advice = {}) {
  finding(console, what, good ? "ok" : "missing", found, good ? Ink::kGood : Ink::kBad);
  if (!good && !advice.empty()) {
    finding(console, "", "", "-> " + advice, Ink::kPlain);
  }
}

void look_at_toolkit(Session& session) {
  ToolkitQuery query;
  query.cuda_root = session.settings.text("toolkit.root");
  const OrError<Found> nvrtc = find_nvrtc(query);
  report(session.console, "NVRTC", nvrtc.has_value(),
         nvrtc ? nvrtc->path + " (found via " + nvrtc->via + ")" : to_string(nvrtc.error()),
         "install a CUDA toolkit (13.0) or the wheel nvidia-cuda-nvrtc; or name its folder with --cuda-root");
  if (nvrtc) {
    const OrError<FoundIncludes> includes = find_cuda_includes(*nvrtc, query);
    report(session.console, "headers", includes.has_value(),
           includes ? includes->folders.front() + " (found " + (includes->via.starts_with("beside") ? "" : "via ") +
                          includes->via + ")"
                    : to_string(includes.error()),
           "install the toolkit's headers beside its libnvrtc");
  }
  const OrError<Found> cupti = find_cupti(query);
  report(session.console, "CUPTI", cupti.has_value(),
         cupti ? cupti->path + " (found via " + cupti->via + ")" : to_string(cupti.error()),
         "only kernel records need it; install the toolkit's extras/CUPTI");
}

void look_at_devices(Session& session) {
  ToolkitQuery query;
  query.cuda_root = session.settings.text("toolkit.root");
  for (const DeviceFinding& finding : look_for_devices(query)) {
    report(session.console, finding.what, finding.good, finding.found, finding.advice);
  }
}

void look_at_model(Session& session) {
  SteadyClock clock;
  ModelConfig config;
  try {
    config = model_config(session.options, session.settings);
  } catch (const UsageError& error) {
    if (session.settings.text("model.name").empty()) {  // which is no fault
      finding(session.console, "model", "not set",
              "only a run over HTTP needs one (--provider, --model, --base-url); --exchange, --replay and --command do "
              "without",
              Ink::kPlain);
      return;
    }
    report(session.console, "model", false, to_string(error.errors),
           "set --provider, --model, --base-url; or replay a transcript (--replay)");
    return;
  }
  if (config.provider != Provider::kOpenai && config.provider != Provider::kAnthropic) {
    report(session.console, "model", true,
           "provider " + std::string(to_string(config.provider)) + " needs no endpoint");
    return;
  }
  const OrError<std::string> answer = probe_endpoint(config, clock);
  report(session.console, "model", answer.has_value(), answer ? *answer : to_string(answer.error()),
         "check --base-url, the network, and the variable that holds the key");
}

void look_at_disk(Session& session) {
  struct statvfs disk{};
  if (statvfs(".", &disk) != 0) {
    report(session.console, "disk", false, "the working folder cannot be looked at");
    return;
  }
  const double gigabytes = static_cast<double>(disk.f_bavail) * static_cast<double>(disk.f_frsize) / 1e9;
  report(session.console, "disk", gigabytes > 1, fmt::format("{:.1f} GB free in the working folder", gigabytes),
         "a run of 1,000 attempts needs about 1 GB");
}

}  // namespace

int doctor_command(Session& session) {
  session.console.line("kfactory " + std::string(program_version()));
  look_at_toolkit(session);
  look_at_devices(session);
  report(session.console, "sandbox", landlock_abi() > 0, sandbox_status(),
         "compilations then rely on the include allow-list, limits and a child process; Linux 5.13 with Landlock adds "
         "a file sandbox");
  look_at_model(session);
  look_at_disk(session);
  return exits::kDone;
}

}  // namespace kf
