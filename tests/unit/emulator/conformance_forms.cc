// SPDX-License-Identifier: Apache-2.0
#include "conformance_forms.h"

#include <array>
#include <fstream>

#include "conformance_cases.h"

namespace kf::emulator_test {
namespace {

bool has(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
}

// Approximations differ within bounds, division by zero is open, and the carry of an addc alone comes from nowhere.
bool has_one_answer(const std::string& form) {
  return !has(form, "approx") && !has(form, ".full") && !form.starts_with("div.u") && !form.starts_with("div.s") &&
         !form.starts_with("rem.") && !form.starts_with("addc") && !form.starts_with("subc") &&
         !form.starts_with("madc");
}

}  // namespace

std::vector<std::string> computing_forms(const std::string& path) {
  static constexpr std::array<std::string_view, 6> kFamilies = {"integer",     "bits",        "reals",
                                                                "comparisons", "conversions", "video"};
  std::vector<std::string> all;
  std::ifstream file(path);
  bool wanted = false;
  for (std::string line; std::getline(file, line);) {
    if (line.starts_with("# ")) {
      wanted = false;
      for (const std::string_view family : kFamilies) wanted |= line.substr(2) == family;
    } else if (wanted && has_one_answer(line)) {
      all.push_back(line);
    }
  }
  return all;
}

std::string forms_ptx(const std::vector<std::string>& forms) {
  std::string text = ".version 9.0\n.target sm_90a\n.address_size 64\n";
  for (std::size_t n = 0; n < forms.size(); ++n)
    text +=
        ".visible .entry k" + std::to_string(n) +
        "(.param .u64 in, .param .u64 out)\n{\n"
        ".reg .pred %p<9>;\n.reg .b16 %h<17>;\n.reg .b32 %r<33>;\n.reg .b64 %d<33>;\n.reg .b64 %i, %o, %w;\n"
        ".reg .b32 %t, %n;\n"
        "mov.u32 %t, %tid.x;\nmov.u32 %n, %ctaid.x;\nmad.lo.u32 %t, %n, 256, %t;\n"
        "ld.param.u64 %i, [in];\nld.param.u64 %o, [out];\nmad.wide.u32 %i, %t, 24, %i;\nmad.wide.u32 %o, %t, 8, %o;\n"
        "ld.global.b64 %d1, [%i];\nld.global.b64 %d2, [%i+8];\nld.global.b64 %d3, [%i+16];\n"
        "cvt.u32.u64 %r1, %d1;\ncvt.u32.u64 %r2, %d2;\ncvt.u32.u64 %r3, %d3;\nshr.u64 %w, %d1, 32;\n"
        "cvt.u32.u64 %r4, %w;\ncvt.u16.u64 %h1, %d1;\ncvt.u16.u64 %h2, %d2;\ncvt.u16.u64 %h3, %d3;\n"
        "mov.b64 %d0, 0;\nmov.b32 %r0, 0;\nmov.b16 %h0, 0;\nand.b32 %n, %t, 1;\nsetp.ne.u32 %p0, %n, 0;\n"
        "and.b32 %n, %r3, 1;\nsetp.ne.u32 %p2, %n, 0;\nand.b32 %n, %r3, 2;\nsetp.ne.u32 %p1, %n, 0;\n"
        "" +
        forms[n] +
        "\ncvt.u64.u32 %w, %r0;\nmad.lo.u64 %d0, %d0, 31, %w;\ncvt.u64.u16 %w, %h0;\nmad.lo.u64 %d0, %d0, 31, %w;\n"
        "selp.b64 %w, 1, 0, %p0;\nmad.lo.u64 %d0, %d0, 2, %w;\nselp.b64 %w, 1, 0, %p1;\n"
        "mad.lo.u64 %d0, %d0, 2, %w;\nst.global.b64 [%o], %d0;\nret;\n}\n";
  return text;
}

std::vector<std::uint64_t> form_inputs(const std::string& form) {
  const bool conversion = form.starts_with("cvt");
  return conformance_inputs({conversion ? "convert" : "form", form});
}

std::vector<std::uint64_t> form_digests(const std::vector<std::uint64_t>& outputs) {
  std::vector<std::uint64_t> digests;
  for (std::size_t first = 0; first < outputs.size(); first += kFormGroup) {
    std::uint64_t digest = 0xcbf29ce484222325;
    for (std::size_t n = first; n < first + kFormGroup; ++n)
      for (int byte = 0; byte < 8; ++byte) digest = (digest ^ (outputs[n] >> (8 * byte) & 0xff)) * 0x100000001b3;
    digests.push_back(digest);
  }
  return digests;
}

}  // namespace kf::emulator_test
