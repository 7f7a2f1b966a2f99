// SPDX-License-Identifier: Apache-2.0
// Registers that a function may read before it sets them. What they hold is left over from other code on hardware, so
// here they begin with random bits: what depends on them comes out wrong, another way in each launch, and code for
// which they do not matter stays right. A function without such registers pays nothing.
#pragma once
#include <cstdint>
#include <span>
#include <vector>

#include "program.h"
#include "undefined.h"

namespace kf::emulator {

struct UnsetRegisters {
  std::vector<RegisterUse> registers;     // slots and bytes
  std::vector<std::uint32_t> predicates;  // indices
};

// What may be read before it is set by the code from `first` on, which is one function to its end. Of `own` registers
// only: other places hold constants. A guarded instruction may not set what it writes.
UnsetRegisters find_unset(const Program& program, std::uint32_t first, const UnsetRegisters& own);

// An instruction ahead of a function's first one that gives them their bits, and what it writes. It counts for nothing.
Inst make_unset(Program& program, const UnsetRegisters& unset, Uses& uses);

}  // namespace kf::emulator
