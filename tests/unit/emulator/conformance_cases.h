// SPDX-License-Identifier: Apache-2.0
// Small kernels, one instruction each, over inputs full of corner cases. The emulator's outputs must equal
// those that a GPU gave (tests/golden/emulator/h200.txt; record_conformance writes it).
#pragma once
#include <cstdint>
#include <string>
#include <vector>

namespace kf::emulator_test {

struct ConformanceCase {
  std::string family;  // "integer", "float", "half", "convert" ...
  std::string body;    // PTX; reads %ha/%ra/%da (b, c alike), writes %hd, %rd or %dd
};

inline constexpr int kConformanceInputs = 1024;  // one thread each
inline constexpr int kConformanceGroup = 64;     // inputs behind one digest

const std::vector<ConformanceCase>& conformance_cases();
void add_tensor_cases(std::vector<ConformanceCase>& to);  // part of them
// ... families "wmma" and "oob", which recordings before December 2026 do not have.
void add_wmma_cases(std::vector<ConformanceCase>& to);
// Of family "oob". a: every NaN of f16 (and 1024 numbers less or more of bf16), of both signs in a pair; b and c:
// numbers, zeros, infinities and such NaNs in turn.
std::vector<std::uint64_t> outside_inputs();
// Tensor products of real numbers from 1/8 to 2, whose sums depend on order and width. The output's upper half is an
// element of d, its lower half that of the product of magnitudes (of a, b and a c of f32); both as f32. Family "tensor
// sum".
std::vector<ConformanceCase> tensor_sum_cases();
// Three 64-bit words (a, b, c) for each input; a 32- or 16-bit operand is the low part.
std::vector<std::uint64_t> conformance_inputs(const ConformanceCase& of);
// A module with the entry "k(in, out)" for one case.
std::string conformance_ptx(const ConformanceCase& of);
// FNV-1a over each group of outputs.
std::vector<std::uint64_t> conformance_digests(const std::vector<std::uint64_t>& outputs);

}  // namespace kf::emulator_test
