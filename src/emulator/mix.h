// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <string_view>

namespace kf::emulator {

// The kind of an instruction in an instruction mix, from its text ("fma.rn.f32"): "fp32", "fp64", "fp16", "integer",
// "convert", "compare", "move", "special", "tensor", "load", "store", "atomic", "copy", "warp", "barrier", "control".
std::string_view kind_of(std::string_view text);

}  // namespace kf::emulator
