// SPDX-License-Identifier: Apache-2.0
#include "compile/nvrtc_library.h"

#include <memory>

#include "os/toolkit.h"

namespace kf {
namespace {

template <class F>
void look_up(const SharedLibrary& library, const char* name, F& function, std::string& missing) {
  function = reinterpret_cast<F>(library.symbol(name));
  if (function == nullptr) {
    missing += (missing.empty() ? "" : ", ") + std::string(name);
  }
}

// NVRTC's sizes count the terminating zero of its texts.
template <class Size, class Get>
std::string text_of(nvrtcProgram program, Size size_of, Get get) {
  std::size_t size = 0;
  if (size_of(program, &size) != NVRTC_SUCCESS || size == 0) {
    return {};
  }
  std::string text(size, '\0');
  if (get(program, text.data()) != NVRTC_SUCCESS) {
    return {};
  }
  text.resize(text.find_last_not_of('\0') + 1);
  return text;
}

}  // namespace

OrError<NvrtcLibrary> NvrtcLibrary::open(const std::string& path) {
  std::vector<SharedLibrary> builtins;
  if (const auto beside = builtins_beside(path)) {
    if (auto opened = SharedLibrary::open("NVRTC's built-in functions", std::vector{*beside})) {
      builtins.push_back(*opened);
    }
  }
  auto library = SharedLibrary::open("NVRTC", std::vector{path});
  if (!library) {
    return std::unexpected(library.error());
  }
  NvrtcLibrary nvrtc(std::move(*library));
  nvrtc.builtins_ = std::move(builtins);
  if (OrError<void> resolved = nvrtc.resolve(); !resolved) {
    return std::unexpected(resolved.error());
  }
  return nvrtc;
}

OrError<void> NvrtcLibrary::resolve() {
  std::string missing;
  decltype(&::nvrtcVersion) get_version = nullptr;
  look_up(library_, "nvrtcVersion", get_version, missing);
  look_up(library_, "nvrtcCreateProgram", create_, missing);
  look_up(library_, "nvrtcDestroyProgram", destroy_, missing);
  look_up(library_, "nvrtcCompileProgram", compile_, missing);
  look_up(library_, "nvrtcGetProgramLogSize", log_size_, missing);
  look_up(library_, "nvrtcGetProgramLog", log_, missing);
  look_up(library_, "nvrtcGetPTXSize", ptx_size_, missing);
  look_up(library_, "nvrtcGetPTX", ptx_, missing);
  look_up(library_, "nvrtcGetCUBINSize", cubin_size_, missing);
  look_up(library_, "nvrtcGetCUBIN", cubin_, missing);
  if (!missing.empty()) {
    return std::unexpected(Error{library_.path(), "has no " + missing, "NVRTC 12.4 or newer is needed"});
  }
  if (get_version(&major_, &minor_) != NVRTC_SUCCESS) {
    return std::unexpected(Error{library_.path(), "does not give its version", ""});
  }
  return {};
}

NvrtcOutput NvrtcLibrary::compile(const NvrtcJob& job) const {
  std::vector<const char*> names, texts, options;
  for (const auto& [name, text] : job.headers) {
    names.push_back(name.c_str());
    texts.push_back(text.c_str());
  }
  for (const std::string& option : job.options) {
    options.push_back(option.c_str());
  }
  NvrtcOutput output;
  nvrtcProgram program = nullptr;
  output.result = create_(&program, job.source.c_str(), job.name.c_str(), static_cast<int>(names.size()), texts.data(),
                          names.data());
  if (output.result != NVRTC_SUCCESS) {
    return output;
  }
  const auto destroy = [this](nvrtcProgram used) { destroy_(&used); };
  const std::unique_ptr<std::remove_pointer_t<nvrtcProgram>, decltype(destroy)> owner(program, destroy);
  output.result = compile_(program, static_cast<int>(options.size()), options.data());
  output.log = text_of(program, log_size_, log_);
  if (output.result == NVRTC_SUCCESS) {
    output.ptx = text_of(program, ptx_size_, ptx_);
    std::size_t size = 0;
    if (cubin_size_(program, &size) == NVRTC_SUCCESS && size > 0) {
      output.cubin.resize(size);
      if (cubin_(program, reinterpret_cast<char*>(output.cubin.data())) != NVRTC_SUCCESS) {
        output.cubin.clear();
      }
    }
  }
  return output;
}

}  // namespace kf
