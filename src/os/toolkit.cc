// SPDX-License-Identifier: Apache-2.0
#include "os/toolkit.h"

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <utility>

#include "os/shared_library.h"

namespace kf {
namespace {

namespace fs = std::filesystem;

struct Step {
  std::string root, via;
};

std::optional<std::string> variable(const ToolkitQuery& query, const char* name) {
  if (query.environment) {
    return query.environment(name);
  }
  const char* value = std::getenv(name);
  return value == nullptr || *value == '\0' ? std::nullopt : std::optional<std::string>(value);
}

bool is_file(const fs::path& path) {
  std::error_code error;
  return fs::is_regular_file(path, error);
}

std::vector<fs::path> entries(const fs::path& folder) {
  std::vector<fs::path> found;
  std::error_code error;
  for (fs::directory_iterator it(folder, error), end; !error && it != end; it.increment(error)) {
    found.push_back(it->path());
  }
  std::ranges::sort(found);
  return found;
}

// Numbers compared as numbers: cuda-13.0 is newer than cuda-9.2.
bool newer(const fs::path& a, const fs::path& b) {
  const auto key = [](const fs::path& path) {
    std::vector<long> numbers;
    const std::string name = path.filename().string();
    for (std::size_t i = 0; i < name.size();) {
      if (name[i] >= '0' && name[i] <= '9') {
        char* end = nullptr;
        numbers.push_back(std::strtol(name.c_str() + i, &end, 10));
        i = static_cast<std::size_t>(end - name.c_str());
      } else {
        ++i;
      }
    }
    return numbers;
  };
  return key(a) > key(b);
}

std::vector<Step> given_roots(const ToolkitQuery& query) {
  std::vector<Step> steps;
  if (!query.cuda_root.empty()) {
    steps.push_back({query.cuda_root, "--cuda-root " + query.cuda_root});
  }
  for (const char* name : {"KFACTORY_CUDA_ROOT", "CUDA_PATH", "CUDA_HOME"}) {
    if (const auto value = variable(query, name)) {
      steps.push_back({*value, std::string(name) + "=" + *value});
    }
  }
  return steps;
}

// Wheels put each part under site-packages/nvidia/<part>: cuda_nvrtc, cuda_cupti (CUDA 12), cu13 (CUDA 13).
std::vector<Step> wheel_roots(const ToolkitQuery& query) {
  std::vector<Step> steps;
  for (const char* name : {"VIRTUAL_ENV", "CONDA_PREFIX"}) {
    const auto prefix = variable(query, name);
    if (!prefix) {
      continue;
    }
    const std::string via = std::string(name) + "=" + *prefix;
    for (const fs::path& python : entries(fs::path(*prefix) / "lib")) {
      if (python.filename().string().starts_with("python")) {
        std::vector<fs::path> parts = entries(python / "site-packages" / "nvidia");
        std::ranges::stable_sort(parts, newer);
        for (const fs::path& part : parts) {
          steps.push_back({part.string(), via + ", wheel nvidia/" + part.filename().string()});
        }
      }
    }
    steps.push_back({*prefix, via});
  }
  return steps;
}

std::vector<Step> default_roots(const ToolkitQuery& query) {
  std::vector<Step> steps;
  for (const std::string& prefix : query.prefixes) {
    std::vector<fs::path> versions;
    for (const fs::path& entry : entries(prefix)) {
      if (entry.filename().string().starts_with("cuda")) {
        versions.push_back(entry);
      }
    }
    std::ranges::stable_sort(versions, newer);
    for (const fs::path& version : versions) {
      steps.push_back({version.string(), version.string()});
    }
    steps.push_back({prefix, prefix});
  }
  return steps;
}

std::vector<fs::path> library_folders(const fs::path& root) {
  std::vector<fs::path> folders{root / "lib64", root / "lib"};
  for (const fs::path& target : entries(root / "targets")) {
    folders.push_back(target / "lib");
  }
  folders.push_back(root / "extras" / "CUPTI" / "lib64");
  folders.push_back(root / "lib" / "x86_64-linux-gnu");
  folders.push_back(root);
  return folders;
}

std::optional<std::string> library_under(const std::string& root, const std::vector<std::string>& sonames) {
  for (const fs::path& folder : library_folders(root)) {
    for (const std::string& soname : sonames) {
      if (is_file(folder / soname)) {
        return (folder / soname).string();
      }
    }
  }
  return std::nullopt;
}

// The nearest folder above a library that holds the toolkit's headers; else the folder above its own.
std::string root_of(const std::string& library) {
  std::error_code error;
  const fs::path real = fs::weakly_canonical(library, error);
  fs::path folder = (error ? fs::path(library) : real).parent_path();
  const fs::path above = folder.parent_path();
  for (int levels = 0; levels < 4 && folder.has_relative_path(); ++levels, folder = folder.parent_path()) {
    if (is_file(folder / "include" / "cuda_fp16.h")) {
      return folder.string();
    }
  }
  return above.string();
}

std::optional<Found> try_steps(const std::vector<Step>& steps, const std::vector<std::string>& sonames,
                               std::string& tried) {
  for (const Step& step : steps) {
    if (const auto path = library_under(step.root, sonames)) {
      return Found{*path, root_of(*path), step.via};
    }
    tried += (tried.empty() ? "" : "; ") + step.via;
  }
  return std::nullopt;
}

OrError<Found> find_library(const ToolkitQuery& query, const std::vector<std::string>& sonames, const char* name) {
  std::string tried;
  if (auto found = try_steps(given_roots(query), sonames, tried)) {
    return *found;
  }
  if (query.ask_loader) {
    if (const auto library = SharedLibrary::open(name, sonames)) {
      return Found{library->path(), root_of(library->path()),
                   "the loader's list (" + fs::path(library->path()).filename().string() + ")"};
    }
    tried += tried.empty() ? "the loader's list" : "; the loader's list";
  }
  std::vector<Step> steps = wheel_roots(query);
  std::ranges::move(default_roots(query), std::back_inserter(steps));
  if (auto found = try_steps(steps, sonames, tried)) {
    return *found;
  }
  std::string wanted;
  for (const std::string& soname : sonames) {
    wanted += (wanted.empty() ? "" : " or ") + soname;
  }
  return std::unexpected(Error{name, wanted + " was not found; looked in: " + tried,
                               "install a CUDA toolkit, or say where it is: --cuda-root or KFACTORY_CUDA_ROOT"});
}

std::vector<std::string> folders_of(const std::string& root) {
  std::vector<fs::path> candidates{fs::path(root) / "include"};
  for (const fs::path& target : entries(fs::path(root) / "targets")) {
    candidates.push_back(target / "include");
  }
  for (const fs::path& include : candidates) {
    if (is_file(include / "cuda_fp16.h")) {
      std::vector<std::string> folders{include.string()};
      if (is_file(include / "cccl" / "cuda" / "std" / "cstdint")) {
        folders.push_back((include / "cccl").string());
      }
      return folders;
    }
  }
  return {};
}

}  // namespace

OrError<Found> find_nvrtc(const ToolkitQuery& query) {
  return find_library(query, {"libnvrtc.so.13", "libnvrtc.so.12"}, "NVRTC");
}

OrError<Found> find_cupti(const ToolkitQuery& query) {
  return find_library(query, {"libcupti.so.13", "libcupti.so.12"}, "CUPTI");
}

OrError<Found> find_compute_sanitizer(const ToolkitQuery& query) {
  constexpr const char* kName = "compute-sanitizer";
  std::string tried;
  const auto under = [&](const std::vector<Step>& steps) -> std::optional<Found> {
    for (const Step& step : steps) {
      for (const fs::path& folder :
           {fs::path(step.root) / "bin", fs::path(step.root) / kName, fs::path(step.root) / "extras" / kName}) {
        if (is_file(folder / kName)) {
          return Found{(folder / kName).string(), step.root, step.via};
        }
      }
      tried += (tried.empty() ? "" : "; ") + step.via;
    }
    return std::nullopt;
  };
  if (auto found = under(given_roots(query))) {
    return *found;
  }
  if (query.ask_loader) {
    const std::string path = variable(query, "PATH").value_or("");
    for (std::string_view rest = path; !rest.empty();) {
      const std::size_t end = std::min(rest.find(':'), rest.size());
      const fs::path program = fs::path(rest.substr(0, end)) / kName;
      if (program.is_absolute() && is_file(program)) {
        return Found{program.string(), program.parent_path().parent_path().string(), "PATH"};
      }
      rest.remove_prefix(std::min(end + 1, rest.size()));
    }
    tried += tried.empty() ? "PATH" : "; PATH";
  }
  if (auto found = under(default_roots(query))) {
    return *found;
  }
  return std::unexpected(
      Error{kName, "is not installed; looked in: " + tried, "it comes with the CUDA toolkit (package cuda-sanitizer)"});
}

OrError<FoundIncludes> find_cuda_includes(const Found& nvrtc, const ToolkitQuery& query) {
  std::vector<Step> steps{{nvrtc.root, "beside " + nvrtc.path}};
  for (auto more : {given_roots(query), wheel_roots(query), default_roots(query)}) {
    std::ranges::move(more, std::back_inserter(steps));
  }
  std::string tried;
  for (const Step& step : steps) {
    if (std::vector<std::string> folders = folders_of(step.root); !folders.empty()) {
      return FoundIncludes{std::move(folders), step.via};
    }
    tried += (tried.empty() ? "" : "; ") + step.via;
  }
  return std::unexpected(
      Error{"CUDA headers", "cuda_fp16.h was not found; looked in: " + tried,
            "install the toolkit's headers, or say where they are: --cuda-root or KFACTORY_CUDA_ROOT"});
}

std::optional<std::string> builtins_beside(const std::string& nvrtc_path) {
  std::optional<std::string> found;
  for (const fs::path& entry : entries(fs::path(nvrtc_path).parent_path())) {
    // libnvrtc-builtins.so.13.0; libnvrtc-builtins.alt.so belongs to another build of NVRTC.
    if (entry.filename().string().starts_with("libnvrtc-builtins.so.")) {
      found = entry.string();
    }
  }
  return found;
}

}  // namespace kf
