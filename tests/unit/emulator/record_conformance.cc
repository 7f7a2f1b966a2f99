// SPDX-License-Identifier: Apache-2.0
// record_conformance FORMS FOLDER PROVENANCE: runs every conformance case, and every computing form of the file FORMS
// (tests/golden/emulator/forms.txt), on this machine's GPU. FOLDER gets h200.txt ("family | body | digests"),
// h200_forms.txt ("form | digests"), h200_approximations.txt and h200_sums.txt (every output word), each beginning with
// PROVENANCE, and raw.txt: every output word of the cases and of rare forms, for looking into a difference.
#include <dlfcn.h>

#include <cstdio>
#include <cstring>
#include <fstream>

#include "conformance_cases.h"
#include "conformance_forms.h"

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

class Recorder {
 public:
  explicit Recorder(const Driver& cuda) : cuda_(cuda) {
    cuda.call("cuMemAlloc_v2", &in_, std::size_t{24 * kConformanceInputs});
    cuda.call("cuMemAlloc_v2", &out_, std::size_t{8 * kConformanceInputs});
  }
  void* load(const std::string& ptx) {  // null: refused
    void* module = nullptr;
    return cuda_.call("cuModuleLoadData", &module, static_cast<const void*>(ptx.c_str())) == 0 ? module : nullptr;
  }
  void unload(void* module) { cuda_.call("cuModuleUnload", module); }
  // Empty when the launch failed.
  std::vector<std::uint64_t> run(void* module, const std::string& entry, const std::vector<std::uint64_t>& inputs) {
    void* function = nullptr;
    cuda_.call("cuModuleGetFunction", &function, module, entry.c_str());
    std::vector<std::uint64_t> outputs(kConformanceInputs);
    void* args[] = {&in_, &out_};
    cuda_.call("cuMemcpyHtoD_v2", in_, static_cast<const void*>(inputs.data()), inputs.size() * 8);
    cuda_.call("cuLaunchKernel", function, unsigned{kConformanceInputs / 256}, 1u, 1u, 256u, 1u, 1u, 0u,
               static_cast<void*>(nullptr), static_cast<void**>(args), static_cast<void**>(nullptr));
    if (cuda_.call("cuMemcpyDtoH_v2", static_cast<void*>(outputs.data()), out_, outputs.size() * 8) != 0) return {};
    return outputs;
  }

 private:
  const Driver& cuda_;
  std::uint64_t in_ = 0, out_ = 0;
};

void write_words(std::ofstream& file, const std::string& title, const std::vector<std::uint64_t>& words) {
  file << title << '\n' << std::hex;
  for (const std::uint64_t word : words) file << word << '\n';
  file << std::dec;
}
void write_line(std::ofstream& file, const std::string& title, const std::vector<std::uint64_t>& words) {
  file << title << " |" << std::hex;
  for (const std::uint64_t word : words) file << ' ' << word;
  file << std::dec << '\n';
}

// Forms whose outputs are worth keeping word by word: those that no case records already.
bool rare(const std::string& form) {
  return form.find(".oob") != std::string::npos || form.starts_with("v") || form.starts_with("lop3") ||
         form.starts_with("cvt.pack") || form.starts_with("fma.r") || form.starts_with("mad24") ||
         form.starts_with("set.");
}

}  // namespace

int main(int argc, char** argv) {
  const Driver cuda;
  int device = 0, version = 0;
  char name[128] = "";
  void* context = nullptr;
  if (argc < 4 || cuda.library == nullptr || cuda.call("cuInit", 0u) != 0 || cuda.call("cuDeviceGet", &device, 0) != 0)
    return std::puts("record_conformance FORMS FOLDER PROVENANCE, on a machine with a GPU"), 1;
  cuda.call("cuDeviceGetName", static_cast<char*>(name), 128, device);
  cuda.call("cuDriverGetVersion", &version);
  cuda.call("cuDevicePrimaryCtxRetain", &context, device);
  cuda.call("cuCtxSetCurrent", context);
  Recorder recorder(cuda);
  const std::string folder = std::string(argv[2]) + "/";
  std::ofstream golden(folder + "h200.txt"), approximations(folder + "h200_approximations.txt"),
      of_forms(folder + "h200_forms.txt"), sums(folder + "h200_sums.txt"), raw(folder + "raw.txt");
  for (std::ofstream* file : {&golden, &approximations, &of_forms, &sums})
    *file << "# " << name << ", driver's CUDA " << version << ", PTX assembled by the driver; " << argv[3] << '\n';
  int failed = 0;
  std::vector<ConformanceCase> cases = conformance_cases();
  for (ConformanceCase& one : tensor_sum_cases()) cases.push_back(std::move(one));
  for (const ConformanceCase& one : cases) {
    void* module = recorder.load(conformance_ptx(one));
    if (module == nullptr) {
      std::printf("refused: %s\n", one.body.c_str());
      ++failed;
      continue;
    }
    const auto outputs = recorder.run(module, "k", conformance_inputs(one));
    if (outputs.empty()) return std::printf("a launch failed: %s\n", one.body.c_str()), 1;
    recorder.unload(module);
    if (one.family == "approximation" || one.family == "tensor sum") {
      write_line(one.family == "approximation" ? approximations : sums, one.body, outputs);
      continue;
    }
    write_line(golden, one.family + " | " + one.body, conformance_digests(outputs));
    write_words(raw, one.body, outputs);
  }
  std::printf("%zu cases, %d refused by the driver\n", cases.size(), failed);
  const auto forms = computing_forms(argv[1]);
  failed = 0;
  for (std::size_t first = 0; first < forms.size(); first += kFormsOfAModule) {
    const std::vector<std::string> group(forms.begin() + first,
                                         forms.begin() + std::min(first + kFormsOfAModule, forms.size()));
    void* together = recorder.load(forms_ptx(group));
    for (std::size_t n = 0; n < group.size(); ++n) {
      void* module = together != nullptr ? together : recorder.load(forms_ptx({group[n]}));
      if (module == nullptr) {
        std::printf("refused: %s\n", group[n].c_str());
        ++failed;
        continue;
      }
      const auto outputs =
          recorder.run(module, together != nullptr ? "k" + std::to_string(n) : "k0", form_inputs(group[n]));
      if (outputs.empty()) return std::printf("a launch failed: %s\n", group[n].c_str()), 1;
      write_line(of_forms, group[n], form_digests(outputs));
      if (rare(group[n])) write_words(raw, group[n], outputs);
      if (together == nullptr) recorder.unload(module);
    }
    if (together != nullptr) recorder.unload(together);
  }
  std::printf("%zu forms, %d refused by the driver\n", forms.size(), failed);
}
