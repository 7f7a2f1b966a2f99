// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <chrono>
#include <cstdint>
#include <mutex>
#include <optional>
#include <stop_token>
#include <string>
#include <vector>

#include <kfactory/build.h>
#include "compile/nvrtc_library.h"
#include "os/child_process.h"

namespace kf {

// Compilations run in processes of their own. The *zygote* is a process with one thread that has NVRTC loaded and
// warmed; for each request it forks a *minder*, which forks the *worker* that compiles behind limits and a sandbox.
// The minder kills the worker at its limits, or when the requester's end of the socket closes, and tells how it
// ended. Whatever happens to a worker, the zygote and the requester are unharmed.
struct ZygoteSettings {
  std::string nvrtc_path;
  std::vector<std::string> readable;    // toolkit folders that a worker may read
  std::string scratch_folder = "/tmp";  // workers get an empty folder of their own below it
  // Of the zygote, and of each worker; not applied in builds with sanitizers.
  std::uint64_t address_space_bytes = 4ULL << 30;
  bool sandbox = true;  // Landlock, where the kernel has it
  // The program that calls compile_zygote_main. Empty: a fork of this process, which must have one thread then.
  std::vector<std::string> command{"/proc/self/exe", "compile-zygote"};
};

// What one compilation may take. Processor time decides: it is the same on a busy machine and on an idle one. Wall time
// bounds what waits, or is starved, for ever.
struct CompileLimits {
  std::chrono::milliseconds processor_time{60'000};
  std::chrono::milliseconds wall_time{600'000};
};
inline constexpr int kWallTimesProcessorTime = 10;

// How a compilation ended that gave no NvrtcOutput.
struct CompileAccident {
  BuildFailure::Kind kind = BuildFailure::Kind::kCrash;
  std::string detail;
  bool lost = false;         // the zygote or the minder vanished: nothing is known about the source
  bool never_began = false;  // lost before the compiler saw the source: no folder, descriptor or process to be had
};

// Thread-safe: any number of compilations at a time.
class Zygote {
 public:
  // Starts the process and waits until it is warm.
  static OrError<std::unique_ptr<Zygote>> start(const ZygoteSettings& settings);

  std::expected<NvrtcOutput, CompileAccident> compile(const NvrtcJob& job, const CompileLimits& limits,
                                                      const std::stop_token& stop);
  const std::string& version() const { return version_; }  // "NVRTC 13.0"
  int major() const { return major_; }
  const std::string& sandbox() const { return sandbox_; }  // what binds the workers, in words
  pid_t pid() const { return process_.pid(); }

 private:
  Zygote(ChildProcess process, Descriptor control) : process_(std::move(process)), control_(std::move(control)) {}
  ChildProcess process_;
  std::mutex mutex_;  // of control_
  Descriptor control_;
  std::string version_, sandbox_;
  int major_ = 0;
};

// Body of the hidden subcommand `compile-zygote`: serves requests on descriptor 3 until its peer is gone.
int compile_zygote_main();

}  // namespace kf
