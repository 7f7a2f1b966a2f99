// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cstdint>

#include "program.h"

namespace kf::emulator {

struct Warp;

// What a special register holds for one lane of a warp whose block has its place in the grid. PTX ISA 9.0 section 10.
std::uint64_t special_value(const Warp& warp, Special what, int lane);

}  // namespace kf::emulator
