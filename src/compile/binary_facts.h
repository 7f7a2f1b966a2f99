// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <span>
#include <string_view>

#include <kfactory/build.h>
#include "compile/cubin_elf.h"

namespace kf {

// What the instructions of a build do, from its PTX. `cubin` (null when there is none) must agree with it: an entry
// point or a variable that only the cubin has makes the facts `unreadable`.
BinaryFacts scan_binary(std::string_view ptx, const CubinFacts* cubin);

}  // namespace kf
