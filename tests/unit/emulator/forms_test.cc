// SPDX-License-Identifier: Apache-2.0
// Every combination of modifiers and types that ptxas accepts (tests/golden/emulator/forms.txt, written by
// record_forms.py) has a handler; a computing one gives the bits that an H200 gave.
#include <cstdlib>
#include <fstream>
#include <map>

#include "conformance_forms.h"
#include "emulator/program.h"
#include "emulator/ptx.h"
#include "kernel_bench.h"

namespace kf::emulator_test {
namespace {

const std::string kForms = KF_SOURCE_DIR "/tests/golden/emulator/forms.txt";

// Families of forms.txt that are outside the emulator's subset as a whole.
const std::vector<std::string> kOutside = {"wmma", "video"};

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
  for (const emulator::Inst& inst : program->code) {
    if (inst.flow != emulator::Flow::kUnsupported) continue;
    const auto line = static_cast<std::size_t>(program->sources[inst.source].where.ptx_line - first);
    const Form& form = forms.at(line);
    --table[form.family].second;
    if (std::ranges::find(kOutside, form.family) == kOutside.end())
      unsupported += "\n  " + form.text + "  " + program->unsupported[static_cast<std::size_t>(inst.imm)];
  }
  EXPECT_EQ(unsupported, "");
  for (const auto& [family, counts] : table)
    RecordProperty(family, std::to_string(counts.second) + " of " + std::to_string(counts.first));
}

}  // namespace
}  // namespace kf::emulator_test
