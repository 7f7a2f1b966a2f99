// SPDX-License-Identifier: Apache-2.0
#include "parts.h"

#include <algorithm>
#include <filesystem>

#include "compile/nvrtc_compiler.h"
#include "factory/cases.h"
#include "models.h"
#include "os/atomic_file.h"
#include "rig/local_rig.h"
#include "words.h"

namespace kf {
namespace {

constexpr std::int64_t kMostEmulatorThreads = 256;
constexpr std::chrono::seconds kLeastCompileLimit{1};

enum class Where : std::uint8_t { kBehindLauncher, kHere };

OrError<std::unique_ptr<LocalRig>> start_rig(const Session& session, const std::string& kind, const std::string& target,
                                             Where where = Where::kBehindLauncher) {
  RigOptions options;
  options.version = std::string(program_version());
  if (where == Where::kBehindLauncher) {
    options.launcher = words_of(session.settings.text("device.launcher")).value_or(std::vector<std::string>());
  }
  options.secrets = secret_variables(session.settings);
  options.waits = [&remarks = session.remarks] {
    remarks.line("kfactory: another kfactory process has the GPU; waiting until it is done");
  };
  options.worker = {own_path(), "worker", "--device", kind, "--gpu", session.settings.text("device.gpu")};
  if (!target.empty()) {
    options.worker.insert(options.worker.end(), {"--target", target});
  }
  if (kind == "emulator") {
    if (const std::int64_t threads = session.settings.count("device.emulator_threads");
        threads > kMostEmulatorThreads) {
      return std::unexpected(Error{
          "--emulator-threads",
          "found " + std::to_string(threads) + "; at most " + std::to_string(kMostEmulatorThreads) + " are allowed",
          "0 takes as many as there are processors"});
    }
    options.worker.insert(options.worker.end(),
                          {"--emulator-threads", session.settings.text("device.emulator_threads")});
  }
  return LocalRig::start(std::move(options), session.stop);
}

UsageError no_device(const std::string& kind, const Error& error) {
  return {
      {{"--device " + kind, to_string(error), error.hint.empty() ? "kfactory doctor says what this machine has" : ""}}};
}

Machine with_rig(std::unique_ptr<LocalRig> rig, std::string note) {
  Machine machine;
  machine.facts = rig->facts();
  machine.rig = std::move(rig);
  machine.note = std::move(note);
  return machine;
}

// An emulator of the GPU's architecture, where the targets' table has one, on this host: a launcher may stand for a
// second allocation. A note says why there is none.
void add_emulator(const Session& session, Machine& machine) {
  if (!session.settings.yes("device.emulator_first")) {
    return;
  }
  if (!named_target(machine.facts.arch)) {
    machine.note = "no target of the emulator has " + machine.facts.arch + ": candidates go to the GPU at once";
    return;
  }
  OrError<std::unique_ptr<LocalRig>> rig = start_rig(session, "emulator", machine.facts.arch, Where::kHere);
  if (!rig) {
    machine.note = "candidates go to the GPU at once, there is no emulator: " + to_string(rig.error());
    return;
  }
  machine.emulator = std::move(*rig);
}

std::string joined(const std::vector<std::string>& names) {
  std::string text;
  for (const std::string& name : names) {
    text += (text.empty() ? "" : ", ") + name;
  }
  return text;
}

// Of cases that may be timed, as far as a line has room.
std::string some_ids(const Spec& spec) {
  constexpr std::size_t kMost = 3;
  std::vector<std::string> ids;
  for (const char* set : {"time", "emulate"}) {
    const auto found = spec.cases.find(std::string_view(set));
    for (std::size_t i = 0; found != spec.cases.end() && i < std::min(kMost, found->second.size()); ++i) {
      ids.push_back(found->second[i].id.value);
    }
  }
  return joined(ids);
}

std::string target_name(const Session& session, const std::string& spec_arch) {
  const std::string& target = session.settings.text("device.target");
  const std::string name = target.empty() ? spec_arch : target;
  if (!named_target(name)) {
    throw UsageError{
        {{"--target", "there is no target called \"" + name + "\"", "there are " + joined(target_names())}}};
  }
  return name;
}

}  // namespace

// A launcher may start the worker on another host, where /proc/self/exe is something else.
std::string own_path() {
  std::error_code error;
  const std::filesystem::path path = std::filesystem::read_symlink("/proc/self/exe", error);
  return error ? "/proc/self/exe" : path.string();
}

Machine open_machine(const Session& session, const std::string& spec_arch, BesideGpu beside) {
  const std::string& kind = session.settings.text("device.kind");
  const std::string target = kind == "cuda" ? "" : target_name(session, spec_arch);
  if (kind == "none") {
    Machine machine;
    machine.facts = *named_target(target);
    machine.facts.kind = "none";
    machine.note = "--device none";
    return machine;
  }
  std::string why;
  if (kind != "emulator") {
    OrError<std::unique_ptr<LocalRig>> rig = start_rig(session, "cuda", "");
    if (rig) {
      Machine machine = with_rig(std::move(*rig), "");
      if (beside == BesideGpu::kEmulator) {
        add_emulator(session, machine);
      }
      return machine;
    }
    if (kind == "cuda") {
      throw no_device(kind, rig.error());
    }
    why = "no GPU here (kfactory doctor says why); ";
  }
  OrError<std::unique_ptr<LocalRig>> rig = start_rig(session, "emulator", target);
  if (!rig) {
    throw no_device(kind, rig.error());
  }
  return with_rig(std::move(*rig), why + "candidates run on the emulator: its figures are estimates, not times");
}

std::unique_ptr<Compiler> open_compiler(const Settings& settings) {
  NvrtcSettings nvrtc;
  nvrtc.toolkit.cuda_root = settings.text("toolkit.root");
  nvrtc.cache_folder = settings.text("toolkit.build_cache");
  nvrtc.limits.processor_time = settings.time("run.compile_limit");
  nvrtc.limits.wall_time = kWallTimesProcessorTime * nvrtc.limits.processor_time;
  if (nvrtc.limits.processor_time < kLeastCompileLimit) {
    throw UsageError{{{"run.compile_limit", "found " + settings.text("run.compile_limit") + "; at least 1s is needed",
                       "set by " + settings.origin("run.compile_limit")}}};
  }
  OrError<std::unique_ptr<NvrtcCompiler>> compiler = NvrtcCompiler::open(nvrtc);
  if (!compiler) {
    throw Fatal(to_string(compiler.error()));
  }
  return std::move(*compiler);
}

Spec read_spec(const std::string& path) {
  return or_usage(load_spec(path));
}

Candidate read_candidate_file(const std::string& path) {
  return or_usage(parse_candidate(or_usage(read_file(path, 4 << 20)), path));
}

std::vector<std::string> timed_cases(const Session& session, const Spec& spec, const DeviceFacts& facts) {
  const std::string& wanted = session.options.cases;
  if (wanted == "all") {
    return {};
  }
  if (wanted.empty() || wanted == "screen") {
    return screening_cases(spec, facts, static_cast<std::int32_t>(session.settings.count("run.screen_cases")));
  }
  // Ids hold commas themselves ("M=8,N=64"), so they are looked for in the text.
  std::vector<std::string> ids;
  for (const auto& [set, cases] : spec.cases) {
    for (const Case& of : cases) {
      if (("," + wanted + ",").find("," + of.id.value + ",") != std::string::npos) {
        ids.push_back(of.id.value);
      }
    }
  }
  if (ids.empty()) {
    throw UsageError{{{"--cases", "no case of the spec is called \"" + wanted + "\"",
                       "all, screen, or ids separated by commas, such as " + some_ids(spec)}}};
  }
  return ids;
}

void say_device(Console& console, const Machine& machine) {
  if (!machine.note.empty()) {
    console.line("device: " + label_of(machine.facts) + ": " + machine.note);
  }
}

void remark_device(Session& session, const Machine& machine) {
  if (!session.options.json && machine.rig != nullptr) {
    say_device(session.remarks, machine);
  }
}

void show_progress(Session& session, Factory& factory, const std::string& of) {
  if (session.options.json) {
    return;
  }
  session.console.progress(of + ": under way");
  factory.observe = [&session, of](const Event& event) { session.console.progress(of + ": " + event.text); };
}

std::string label_of(const DeviceFacts& facts) {
  return facts.kind == "emulator" ? facts.name + " (emulated; estimates)"
         : facts.name.empty()     ? facts.arch
                                  : facts.name;
}

Factory judging_factory(const Spec& spec, const Machine& machine, Compiler& compiler, Clock& clock) {
  Factory factory;
  factory.spec = &spec;
  factory.facts = machine.facts;
  factory.compiler = &compiler;
  factory.rig = machine.rig.get();
  factory.emulator = machine.emulator.get();
  factory.clock = &clock;
  return factory;
}

EvaluationSettings evaluation_settings(const Session& session, const Spec& spec, const DeviceFacts& facts) {
  EvaluationSettings settings;
  settings.time_cases = timed_cases(session, spec, facts);
  const std::string& wanted = session.options.cases;
  settings.scaled_cases = wanted == "all" ? 0
                          : wanted.empty() || wanted == "screen"
                              ? static_cast<std::int32_t>(session.settings.count("run.screen_cases"))
                              : static_cast<std::int32_t>(settings.time_cases.size());
  settings.time = !session.options.no_time;
  settings.max_variants = static_cast<std::int32_t>(session.settings.count("run.max_variants"));
  settings.margin = session.settings.share("run.margin");
  settings.compile_jobs = static_cast<std::int32_t>(session.settings.count("run.compile_jobs"));
  return settings;
}

}  // namespace kf
