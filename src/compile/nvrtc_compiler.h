// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <chrono>
#include <cstdint>
#include <memory>
#include <mutex>
#include <string>

#include <kfactory/build.h>
#include "compile/build_cache.h"
#include "compile/zygote.h"
#include "os/toolkit.h"

namespace kf {

struct NvrtcSettings {
  ToolkitQuery toolkit;
  std::vector<std::string> zygote_command{"/proc/self/exe", "compile-zygote"};  // see ZygoteSettings::command
  CompileLimits limits;                                                         // of one compilation
  std::uint64_t address_space_bytes = 4ULL << 30;                               // of one compilation
  bool sandbox = true;
  std::string scratch_folder;  // empty: TMPDIR, or /tmp
  std::string cache_folder;    // empty: builds are kept in memory only
  std::uint64_t memory_cache_bytes = 64ULL << 20;
};

// Where the compiler comes from and what binds it, for `doctor` and the run's record.
struct ToolchainFacts {
  std::string version;       // "NVRTC 13.0"
  std::string library, via;  // path, and the step of the search that found it
  std::vector<std::string> include_folders;
  std::string includes_via;
  std::string sandbox;  // "Landlock ABI 7", or why there is none
};

// NVRTC in child processes (zygote.h). Thread-safe: compilations run side by side, as many as there are callers.
class NvrtcCompiler final : public Compiler {
 public:
  // Finds a toolkit and warms a compile process (about 0.3 s). The error says where it looked.
  static OrError<std::unique_ptr<NvrtcCompiler>> open(const NvrtcSettings& settings = {});

  // Refuses what audit_source refuses (kPolicy) before anything is compiled. Throws Fatal when no compile process can
  // be started any more.
  std::expected<Build, BuildFailure> compile(const BuildRequest& request, std::stop_token stop) override;
  std::string version() const override { return facts_.version; }
  const ToolchainFacts& facts() const { return facts_; }

 private:
  explicit NvrtcCompiler(const NvrtcSettings& settings);
  std::shared_ptr<Zygote> zygote();
  void replace_zygote(const std::shared_ptr<Zygote>& lost);
  std::expected<NvrtcOutput, CompileAccident> run(const NvrtcJob& job, const std::stop_token& stop);
  // A path in PTX and in logs is one of this machine; taken out.
  std::string without_paths(std::string ptx) const;
  std::expected<Build, BuildFailure> finish(const Digest& id, NvrtcOutput output) const;

  NvrtcSettings settings_;
  ZygoteSettings zygote_settings_;
  ToolchainFacts facts_;
  std::mutex mutex_;  // of zygote_
  std::shared_ptr<Zygote> zygote_;
  int nvrtc_major_ = 0;
  MemoryCache memory_;
  FolderCache folder_;
};

// Names everything that a build depends on. docs/formats/build.md has the order of the fields.
Digest build_id(const BuildRequest& request, const std::string& compiler_version);

}  // namespace kf
