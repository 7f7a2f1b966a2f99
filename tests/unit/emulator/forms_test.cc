// SPDX-License-Identifier: Apache-2.0
// Every combination of modifiers and types that ptxas accepts (tests/golden/emulator/forms.txt, written by
// record_forms.py) has a handler; a computing one gives the bits that an H200 gave.
#include <algorithm>
#include <fstream>
#include <map>
#include <sstream>

#include "conformance_forms.h"
#include "emulator/program.h"
#include "emulator/ptx.h"
#include "kernel_bench.h"

namespace kf::emulator_test {
namespace {

const std::string kForms = KF_SOURCE_DIR "/tests/golden/emulator/forms.txt";

// Families of forms.txt that are outside the emulator's subset as a whole.
const std::vector<std::string> kOutside = {"video"};

// PTX ISA 9.0 gives bf16 fma no directed rounding. ptxas 13.0 accepts these, and computes one number as f16 and pairs
// rounded to nearest (so an H200's recorded bits are those of another instruction); the emulator refuses them.
bool refused(const std::string& form) {
  const bool directed = form.starts_with("fma.rz") || form.starts_with("fma.rm") || form.starts_with("fma.rp");
  return directed && form.find(".bf16") != std::string::npos;
}

struct Form {
  std::string family, text;
};
std::vector<Form> all_forms() {
  std::vector<Form> all;
  std::ifstream file(kForms);
  std::string family;
  for (std::string line; std::getline(file, line);) {
    if (line.starts_with("#"))
      family = line.substr(2);
    else
      all.push_back({family, line});
  }
  return all;
}

TEST(Forms, NoneOfTheSupportedFamiliesIsUnsupported) {
  const auto forms = all_forms();
  ASSERT_GT(forms.size(), 8000u);
  std::string text =
      ".version 9.0\n.target sm_90a\n.address_size 64\n.extern .shared .align 128 .b8 shared_words[];\n"
      ".visible .entry k(.param .u64 pointer)\n{\n.reg .pred %p<9>;\n.reg .b16 %h<17>;\n.reg .b32 %r<33>;\n"
      ".reg .b64 %d<33>;\n.reg .b128 %x<5>;\n.local .align 16 .b8 frame[256];\n";
  const auto first = std::count(text.begin(), text.end(), '\n') + 1;
  for (const Form& form : forms) text += form.text + "\n";
  const auto module = emulator::parse_ptx(text + "ret;\n}\n");
  ASSERT_TRUE(module) << to_string(module.error());
  emulator::GlobalMemory memory;
  const auto program = emulator::decode(*module, memory);
  ASSERT_TRUE(program) << to_string(program.error());
  std::map<std::string, std::pair<int, int>> table;  // family: forms, supported
  for (const Form& form : forms) ++table[form.family].first, ++table[form.family].second;
  std::string unsupported;
  int refusals = 0;
  for (const emulator::Inst& inst : program->code) {
    if (inst.flow != emulator::Flow::kUnsupported) continue;
    const auto line = static_cast<std::size_t>(program->sources[inst.source].where.ptx_line - first);
    const Form& form = forms.at(line);
    --table[form.family].second;
    if (refused(form.text))
      ++refusals;
    else if (std::ranges::find(kOutside, form.family) == kOutside.end())
      unsupported += "\n  " + form.text + "  " + program->unsupported[static_cast<std::size_t>(inst.imm)];
  }
  EXPECT_EQ(unsupported, "");
  EXPECT_EQ(refusals, std::ranges::count_if(forms, [](const Form& form) { return refused(form.text); }));
  EXPECT_EQ(refusals, 24);
  for (const auto& [family, counts] : table)
    RecordProperty(family, std::to_string(counts.second) + " of " + std::to_string(counts.first));
}

TEST(Forms, ComputingOnesGiveTheBitsOfAnH200) {
  std::ifstream file(KF_SOURCE_DIR "/tests/golden/emulator/h200_forms.txt");
  std::map<std::string, std::vector<std::uint64_t>> recorded;
  for (std::string line; std::getline(file, line);) {
    if (line.starts_with("#")) continue;
    const auto bar = line.rfind(" |");
    std::istringstream digits(line.substr(bar + 2));
    for (std::uint64_t digest = 0; digits >> std::hex >> digest;) recorded[line.substr(0, bar)].push_back(digest);
  }
  auto forms = computing_forms(kForms);
  EXPECT_EQ(recorded.size(), forms.size());  // the driver takes what ptxas takes
  std::erase_if(forms, [&](const std::string& form) { return form.starts_with("v") || refused(form); });
  ASSERT_EQ(forms.size(), 3116u);
  std::string differences;
  for (std::size_t first = 0; first < forms.size(); first += kFormsOfAModule) {
    const std::vector<std::string> group(
        forms.begin() + static_cast<std::ptrdiff_t>(first),
        forms.begin() + static_cast<std::ptrdiff_t>(std::min(first + kFormsOfAModule, forms.size())));
    KernelBench bench(forms_ptx(group));
    const int out = bench.allocate(8 * kFormInputs);
    for (std::size_t n = 0; n < group.size(); ++n) {
      const int in = bench.buffer(form_inputs(group[n]));
      const auto result = bench.pointer(in).pointer(out).launch("k" + std::to_string(n), {{kFormInputs / 256}, {256}});
      if (!result) {
        differences += "\n  " + group[n] + "  " + result.error().detail;
      } else if (form_digests(bench.read<std::uint64_t>(out, kFormInputs)) != recorded[group[n]]) {
        differences += "\n  " + group[n];
      }
    }
  }
  EXPECT_EQ(differences, "");
}

}  // namespace
}  // namespace kf::emulator_test
