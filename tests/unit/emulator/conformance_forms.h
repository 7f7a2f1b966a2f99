// SPDX-License-Identifier: Apache-2.0
// Every instruction form of tests/golden/emulator/forms.txt that computes from registers to registers, run over the
// same inputs as the written cases, many of them in one module.
#pragma once
#include <cstdint>
#include <string>
#include <vector>

namespace kf::emulator_test {

inline constexpr int kFormInputs = 1024;
inline constexpr int kFormGroup = 256;  // inputs behind one digest
inline constexpr std::size_t kFormsOfAModule = 64;

// The forms of the file that can be run so, in its order.
std::vector<std::string> computing_forms(const std::string& path);
// A module with the entries k0(in, out), k1 .. for these forms: thread t takes three words of `in`, writes one.
std::string forms_ptx(const std::vector<std::string>& forms);
std::vector<std::uint64_t> form_inputs(const std::string& form);
std::vector<std::uint64_t> form_digests(const std::vector<std::uint64_t>& outputs);

}  // namespace kf::emulator_test
