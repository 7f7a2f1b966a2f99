// SPDX-License-Identifier: Apache-2.0
#include "compile/ptx_value.h"

#include <algorithm>

namespace kf {
namespace {

// cvt between 64 and 32 bits, as shared addresses need it.
bool between_integers(const PtxInstruction& instruction) {
  return instruction.base() == "cvt" && (instruction.has("u64") || instruction.has("s64")) &&
         (instruction.has("u32") || instruction.has("s32") || instruction.opcode == "cvt.u64.u64" ||
          instruction.opcode == "cvt.s64.s64");
}

}  // namespace

bool PtxValue::join(const PtxValue& more) {
  const std::size_t before = variables.size();
  const int level_before = level;
  const bool other_before = other;
  variables.insert(more.variables.begin(), more.variables.end());
  level = std::max(level, more.variables.empty() ? 0 : more.level);
  other = other || more.other;
  return variables.size() != before || level != level_before || other != other_before;
}

PtxValue combine(const PtxInstruction& instruction, const std::vector<PtxValue>& sources) {
  const std::string_view base = instruction.base();
  PtxValue all;
  int with_variables = 0;
  bool all_known = true;
  for (const PtxValue& source : sources) {
    all.join(source);
    with_variables += !source.clean();
    all_known = all_known && (source.other || !source.clean());
  }
  if (all.clean()) {
    all.other = all_known;  // a register that nothing has set so far may still turn out to be an address
    return all;
  }
  if (base == "mov" || base == "cvta" || base == "selp" || base == "mapa") {
    return all;  // one of the sources as it is
  }
  if (between_integers(instruction)) {
    all.level = std::max<int>(all.level, kBlended);
    return all;
  }
  const bool adds = base == "add" || (base == "sub" && !sources.empty() && !sources[0].clean()) ||
                    (base == "mad" && sources.size() == 3 && sources[0].clean() && sources[1].clean());
  if (with_variables == 1 && (adds || base == "or")) {
    // With an offset. Where the operand may also be something else, the sum may be anything.
    const auto carrier = std::ranges::find_if(sources, [](const PtxValue& source) { return !source.clean(); });
    all.level = std::max(
        {all.level, base == "or" ? int{kBlended} : int{kAddress}, carrier->other ? int{kBlended} : int{kAddress}});
    all.other = false;
    return all;
  }
  all.level = kMangled;
  return all;
}

}  // namespace kf
