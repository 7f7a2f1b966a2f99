// SPDX-License-Identifier: Apache-2.0
// record_conformance GOLDEN APPROXIMATIONS PROVENANCE [RAW]: runs every conformance case on this machine's GPU and
// writes one line a case: "family | body | digests"; approximations get every output word instead, in a file of their
// own. Both begin with PROVENANCE. RAW gets every output word, for looking into a difference.
#include <dlfcn.h>

#include <cstdio>
#include <cstring>
#include <fstream>

#include "conformance_cases.h"

using namespace kf::emulator_test;

namespace {

struct Driver {
  void* library = dlopen("libcuda.so.1", RTLD_NOW);
  template <class... A>
  int call(const char* name, A... a) const {
    auto* fn = reinterpret_cast<int (*)(A...)>(dlsym(library, name));
    return fn != nullptr ? fn(a...) : -1;
  }
};

}  // namespace

int main(int argc, char** argv) {
  const Driver cuda;
  int device = 0, version = 0;
  char name[128] = "";
  void* context = nullptr;
  if (argc < 4 || cuda.library == nullptr || cuda.call("cuInit", 0u) != 0 || cuda.call("cuDeviceGet", &device, 0) != 0)
    return std::puts("no GPU, or no file to write"), 1;
  cuda.call("cuDeviceGetName", static_cast<char*>(name), 128, device);
  cuda.call("cuDriverGetVersion", &version);
  cuda.call("cuDevicePrimaryCtxRetain", &context, device);
  cuda.call("cuCtxSetCurrent", context);
  std::uint64_t in = 0, out = 0;
  cuda.call("cuMemAlloc_v2", &in, std::size_t{24 * kConformanceInputs});
  cuda.call("cuMemAlloc_v2", &out, std::size_t{8 * kConformanceInputs});
  std::ofstream golden(argv[1]), approximations(argv[2]), raw(argc > 4 ? argv[4] : "/dev/null");
  for (std::ofstream* file : {&golden, &approximations})
    *file << "# " << name << ", driver's CUDA " << version << ", PTX assembled by the driver; " << argv[3] << '\n';
  int failed = 0;
  for (const ConformanceCase& one : conformance_cases()) {
    void *module = nullptr, *function = nullptr;
    const std::string ptx = conformance_ptx(one);
    if (int e = cuda.call("cuModuleLoadData", &module, static_cast<const void*>(ptx.c_str())); e != 0) {
      std::printf("refused (%d): %s\n", e, one.body.c_str());
      ++failed;
      continue;
    }
    cuda.call("cuModuleGetFunction", &function, module, static_cast<const char*>("k"));
    const auto inputs = conformance_inputs(one);
    std::vector<std::uint64_t> outputs(kConformanceInputs);
    void* args[] = {&in, &out};
    cuda.call("cuMemcpyHtoD_v2", in, static_cast<const void*>(inputs.data()), inputs.size() * 8);
    cuda.call("cuLaunchKernel", function, unsigned{kConformanceInputs / 256}, 1u, 1u, 256u, 1u, 1u, 0u,
              static_cast<void*>(nullptr), static_cast<void**>(args), static_cast<void**>(nullptr));
    if (int e = cuda.call("cuMemcpyDtoH_v2", static_cast<void*>(outputs.data()), out, outputs.size() * 8); e != 0)
      return std::printf("error %d in %s\n", e, one.body.c_str()), 1;
    cuda.call("cuModuleUnload", module);
    if (one.family == "approximation") {
      approximations << one.body << " |" << std::hex;
      for (const std::uint64_t word : outputs) approximations << ' ' << word;
      approximations << std::dec << '\n';
      continue;
    }
    golden << one.family << " | " << one.body << " |" << std::hex;
    for (const std::uint64_t digest : conformance_digests(outputs)) golden << ' ' << digest;
    golden << std::dec << '\n';
    raw << one.body << '\n' << std::hex;
    for (const std::uint64_t word : outputs) raw << word << '\n';
    raw << std::dec;
  }
  std::printf("%zu cases, %d refused by the driver\n", conformance_cases().size(), failed);
}
