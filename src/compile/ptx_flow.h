// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <set>
#include <string>

#include "compile/ptx_module.h"

namespace kf {

// What happens to the module variables (.global and .const) of a PTX module: memory that outlives a launch.
struct VariableUse {
  std::set<std::string> written;   // an instruction may write them
  std::set<std::string> escaping;  // their address leaves our sight: stored to memory that others read, compared
                                   // bit by bit, passed to unknown code
  bool complete = true;            // false: the program is too large to be followed; the sets are not all
};

// Follows addresses through registers, parameters, calls and local or shared memory, without regard to the order of
// instructions, to a fixed point. Errs on the side of refusing: docs/gates.md says where.
VariableUse follow_variables(const PtxModule& module);

// How many of an instruction's leading operands it writes (0 or 1). A vector or a pair counts as one.
int destinations(const PtxInstruction& instruction);

}  // namespace kf
