// SPDX-License-Identifier: Apache-2.0
#include "nvrtc.h"

#include <dlfcn.h>

#include <cstdlib>
#include <stdexcept>
#include <vector>

namespace kf::emulator_test {
namespace {

using Program = void*;
struct Nvrtc {
  int (*create)(Program*, const char*, const char*, int, const char* const*, const char* const*) = nullptr;
  int (*compile)(Program, int, const char* const*) = nullptr;
  int (*log_size)(Program, std::size_t*) = nullptr;
  int (*log)(Program, char*) = nullptr;
  int (*ptx_size)(Program, std::size_t*) = nullptr;
  int (*ptx)(Program, char*) = nullptr;
  int (*destroy)(Program*) = nullptr;
};

std::string toolkit() {
  for (const char* name : {"CUDA_PATH", "CUDA_HOME"})
    if (const char* path = std::getenv(name)) return path;
  return "/usr/local/cuda";
}

const Nvrtc* nvrtc() {
  static const std::optional<Nvrtc> table = []() -> std::optional<Nvrtc> {
    void* library = dlopen("libnvrtc.so.13", RTLD_NOW);
    if (library == nullptr) library = dlopen((toolkit() + "/lib64/libnvrtc.so").c_str(), RTLD_NOW);
    if (library == nullptr) return std::nullopt;
    Nvrtc t;
    auto get = [&](auto& into, const char* name) {
      into = reinterpret_cast<std::remove_reference_t<decltype(into)>>(dlsym(library, name));
    };
    get(t.create, "nvrtcCreateProgram");
    get(t.compile, "nvrtcCompileProgram");
    get(t.log_size, "nvrtcGetProgramLogSize");
    get(t.log, "nvrtcGetProgramLog");
    get(t.ptx_size, "nvrtcGetPTXSize");
    get(t.ptx, "nvrtcGetPTX");
    get(t.destroy, "nvrtcDestroyProgram");
    return t;
  }();
  return table ? &*table : nullptr;
}

}  // namespace

std::optional<std::string> compile_to_ptx(const std::string& source) {
  const Nvrtc* n = nvrtc();
  if (n == nullptr) return std::nullopt;
  Program program = nullptr;
  n->create(&program, source.c_str(), "kernel.cu", 0, nullptr, nullptr);
  const std::string include = "-I" + toolkit() + "/include", cccl = include + "/cccl";
  const std::vector<const char*> options = {"--gpu-architecture=sm_90a",
                                            "-lineinfo",
                                            "--std=c++17",
                                            "-default-device",
                                            "--fmad=false",
                                            include.c_str(),
                                            cccl.c_str()};
  const int result = n->compile(program, static_cast<int>(options.size()), options.data());
  std::size_t size = 0;
  std::string text;
  if (result != 0) {
    n->log_size(program, &size);
    text.resize(size);
    n->log(program, text.data());
    n->destroy(&program);
    throw std::runtime_error(text);
  }
  n->ptx_size(program, &size);
  text.resize(size);
  n->ptx(program, text.data());
  n->destroy(&program);
  while (!text.empty() && text.back() == '\0') text.pop_back();
  return text;
}

}  // namespace kf::emulator_test
