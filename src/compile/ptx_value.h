// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <set>
#include <vector>

#include "compile/ptx_module.h"

namespace kf {

// How far a value is from a plain address of a variable.
enum PtxDistance : int {
  kAddress,  // the address itself, or with an offset added
  kBlended,  // as good as an address for a load, but comparing it may tell bits of the address
  kMangled,  // any function of the address
};

// What a register, a parameter or a memory cell may hold, over all instructions.
struct PtxValue {
  std::set<int> variables;  // whose address it may be made from
  int level = kAddress;     // the worst of them
  bool other = false;       // it may also hold something without any address in it

  // Takes in what `more` may hold. True: that was something new.
  bool join(const PtxValue& more);
  bool clean() const { return variables.empty(); }
  // Surely an address, whatever path was taken.
  bool pure() const { return !variables.empty() && !other && level == kAddress; }
};

// What an instruction that computes makes of its sources (their values in its order, without a predicate of selp).
PtxValue combine(const PtxInstruction& instruction, const std::vector<PtxValue>& sources);

}  // namespace kf
