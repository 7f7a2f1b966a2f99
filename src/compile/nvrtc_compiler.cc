// SPDX-License-Identifier: Apache-2.0
#include "compile/nvrtc_compiler.h"

#include <algorithm>
#include <cstdlib>

#include "compile/binary_facts.h"
#include "compile/log_cleaner.h"
#include "compile/options.h"
#include "compile/ptxas_report.h"
#include "compile/source_audit.h"
#include "compile/wire.h"

namespace kf {
namespace {

// Part of every build id: raise it when the options or the stand-in headers change what a request compiles to.
constexpr std::string_view kRecipe = "kfactory build 1";

BuildFailure failure(BuildFailure::Kind kind, std::string log) {
  return BuildFailure{kind, std::move(log)};
}

// The report's figures, checked against the cubin's: registers must agree, and launch bounds come from there.
void check_against_cubin(std::vector<KernelUse>& kernels, const CubinFacts& cubin, std::string& log) {
  for (const CubinEntry& entry : cubin.entries) {
    auto use = std::ranges::find(kernels, entry.name, &KernelUse::entry);
    if (use == kernels.end()) {
      kernels.push_back({entry.name});
      use = kernels.end() - 1;
      use->stack_bytes = entry.frame_bytes;
      log += "ptxas did not report on " + entry.name + "; spills are not known\n";
    } else if (use->registers != entry.registers && entry.registers > 0) {
      log += "ptxas reports " + std::to_string(use->registers) + " registers for " + entry.name + ", the cubin says " +
             std::to_string(entry.registers) + ", which counts\n";
    }
    use->registers = entry.registers > 0 ? entry.registers : use->registers;
    use->max_threads = entry.max_threads;
  }
}

// In the order of the PTX, which is the order of the source.
void sort_kernels(std::vector<KernelUse>& kernels, const std::vector<std::string>& entries) {
  std::ranges::stable_sort(
      kernels, {}, [&](const KernelUse& use) { return std::ranges::find(entries, use.entry) - entries.begin(); });
}

std::string scratch_of(const NvrtcSettings& settings) {
  if (!settings.scratch_folder.empty()) {
    return settings.scratch_folder;
  }
  const char* folder = std::getenv("TMPDIR");
  return folder != nullptr && *folder == '/' ? folder : "/tmp";
}

}  // namespace

Digest build_id(const BuildRequest& request, const std::string& compiler_version) {
  std::vector<std::string_view> fields{kRecipe, compiler_version, request.arch, request.prelude, request.source};
  fields.push_back("defines");
  fields.insert(fields.end(), request.defines.begin(), request.defines.end());
  fields.push_back("flags");
  fields.insert(fields.end(), request.flags.begin(), request.flags.end());
  fields.push_back("headers");
  for (const auto& [name, text] : request.headers) {
    fields.push_back(name);
    fields.push_back(text);
  }
  return sha256(pack(fields));
}

NvrtcCompiler::NvrtcCompiler(const NvrtcSettings& settings)
    : settings_(settings), memory_(settings.memory_cache_bytes), folder_(settings.cache_folder) {}

OrError<std::unique_ptr<NvrtcCompiler>> NvrtcCompiler::open(const NvrtcSettings& settings) {
  const OrError<Found> library = find_nvrtc(settings.toolkit);
  if (!library) {
    return std::unexpected(library.error());
  }
  const OrError<FoundIncludes> includes = find_cuda_includes(*library, settings.toolkit);
  if (!includes) {
    return std::unexpected(includes.error());
  }
  std::unique_ptr<NvrtcCompiler> compiler(new NvrtcCompiler(settings));
  compiler->zygote_settings_ = {library->path,        includes->folders,
                                scratch_of(settings), settings.address_space_bytes,
                                settings.sandbox,     settings.zygote_command};
  OrError<std::unique_ptr<Zygote>> zygote = Zygote::start(compiler->zygote_settings_);
  if (!zygote) {
    return std::unexpected(zygote.error());
  }
  compiler->facts_ = {(*zygote)->version(), library->path, library->via,
                      includes->folders,    includes->via, (*zygote)->sandbox()};
  compiler->nvrtc_major_ = (*zygote)->major();
  compiler->zygote_ = std::move(*zygote);
  return compiler;
}

std::shared_ptr<Zygote> NvrtcCompiler::zygote() {
  const std::scoped_lock lock(mutex_);
  return zygote_;
}

// One of several threads that saw the same zygote vanish starts the next one.
void NvrtcCompiler::replace_zygote(const std::shared_ptr<Zygote>& lost) {
  const std::scoped_lock lock(mutex_);
  if (zygote_ != lost) {
    return;
  }
  OrError<std::unique_ptr<Zygote>> fresh = Zygote::start(zygote_settings_);
  if (!fresh) {
    throw Fatal(to_string(fresh.error()));
  }
  zygote_ = std::move(*fresh);
}

std::expected<NvrtcOutput, CompileAccident> NvrtcCompiler::run(const NvrtcJob& job, const std::stop_token& stop) {
  std::shared_ptr<Zygote> used = zygote();
  auto output = used->compile(job, settings_.limits, stop);
  if (!output && output.error().lost) {
    replace_zygote(used);
    output = zygote()->compile(job, settings_.limits, stop);
    if (!output && output.error().never_began) {
      throw Fatal("a compilation cannot begin: " + output.error().detail +
                  ". That is no fault of the source: make room, or raise the limit (TMPDIR, ulimit), and try again");
    }
  }
  return output;
}

std::expected<Build, BuildFailure> NvrtcCompiler::compile(const BuildRequest& request, std::stop_token stop) {
  if (const auto refused = audit_source_with(request.source, request.headers)) {
    return std::unexpected(failure(BuildFailure::Kind::kPolicy, refused->message));
  }
  if (const auto refused = refuse_options(request)) {
    return std::unexpected(failure(BuildFailure::Kind::kPolicy, *refused));
  }
  const Digest id = build_id(request, facts_.version);
  if (auto cached = memory_.find(id)) {
    cached->from_cache = true;
    return *cached;
  }
  const bool has_folder = !settings_.cache_folder.empty();
  auto kept = has_folder ? folder_.find(id) : std::nullopt;
  const bool from_cache = kept.has_value();
  if (!kept) {
    auto output = run(nvrtc_job(request, facts_.include_folders, nvrtc_major_), stop);
    if (!output) {
      return std::unexpected(failure(output.error().kind, output.error().detail));
    }
    kept = std::move(*output);
  }
  std::expected<Build, BuildFailure> build = finish(id, *kept);
  if (build) {
    memory_.put(*build);
    build->from_cache = from_cache;
    if (has_folder && !from_cache) {
      folder_.put(id, *kept);
    }
  }
  return build;
}

std::string NvrtcCompiler::without_paths(std::string ptx) const {
  std::string clean;
  clean.reserve(ptx.size());
  for (std::string_view rest = ptx; !rest.empty();) {
    const std::string_view line = rest.substr(0, rest.find('\n') == rest.npos ? rest.npos : rest.find('\n') + 1);
    rest.remove_prefix(line.size());
    const std::size_t open = line.starts_with("\t.file\t") ? line.find('"') : line.npos;
    if (open == line.npos) {
      clean += line;
      continue;
    }
    std::string_view path = line.substr(open + 1);
    for (const std::string& folder : facts_.include_folders) {
      if (path.starts_with(folder + "/")) {
        path.remove_prefix(folder.size() + 1);
      }
    }
    if (path.starts_with('/')) {  // the scratch folder of the compile process
      path.remove_prefix(path.substr(0, path.find('"')).rfind('/') + 1);
    }
    clean += std::string(line.substr(0, open + 1)) + std::string(path);
  }
  return clean;
}

std::expected<Build, BuildFailure> NvrtcCompiler::finish(const Digest& id, NvrtcOutput output) const {
  output.ptx = without_paths(std::move(output.ptx));
  const bool failed = output.result != NVRTC_SUCCESS;
  std::string log = clean_log(output.log, {facts_.include_folders, output.ptx, failed});
  if (failed) {
    const bool memory = output.result == NVRTC_ERROR_OUT_OF_MEMORY ||
                        output.log.find("catastrophic error: out of memory") != std::string::npos;
    if (log.empty()) {
      log = "NVRTC failed with result " + std::to_string(output.result) + " and no message\n";
    }
    return std::unexpected(failure(memory ? BuildFailure::Kind::kMemory : BuildFailure::Kind::kErrors, std::move(log)));
  }
  Build build;
  build.id = id;
  build.toolchain = facts_.version;
  build.kernels = read_ptxas_report(output.log);
  std::optional<CubinFacts> cubin;
  if (!output.cubin.empty()) {
    OrError<CubinFacts> read = read_cubin(output.cubin);
    if (!read) {
      return std::unexpected(failure(BuildFailure::Kind::kCrash, to_string(read.error())));
    }
    cubin = std::move(*read);
    check_against_cubin(build.kernels, *cubin, log);
  }
  build.facts = scan_binary(output.ptx, cubin ? &*cubin : nullptr);
  sort_kernels(build.kernels, build.facts.entries);
  build.ptx = std::move(output.ptx);
  build.cubin = std::move(output.cubin);
  build.log = std::move(log);
  return build;
}

}  // namespace kf
