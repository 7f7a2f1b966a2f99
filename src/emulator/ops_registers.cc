// SPDX-License-Identifier: Apache-2.0
// setmaxnreg: PTX ISA 9.0 section 9.7.19.5. Registers are not scarce here; the rules for changing their number are
// kept: all warps of a warpgroup do it together, a multiple of 8 from 24 to 256, up or down as the word says, and an
// increase waits until the block's registers suffice.
#include <algorithm>

#include "block.h"
#include "lanes.h"

namespace kf::emulator {
namespace {

constexpr std::uint32_t kWarpsOfAGroup = 4, kRegistersOfAnSm = 65'536;

std::uint32_t at_entry(const Block& block) {
  if (block.launch->kernel->max_registers != 0) return block.launch->kernel->max_registers;
  return std::min<std::uint32_t>(kRegistersOfAnSm / std::max(block.threads, 1u) / 8 * 8, 256);  // it cannot have more
}
std::uint32_t registers_of(const Warp& w) {
  return w.register_limit != 0 ? w.register_limit : at_entry(*w.block);
}

void check_group(Warp& w, const Inst& i) {
  const std::size_t group = w.index / kWarpsOfAGroup;
  auto& changes = w.block->register_changes;
  if (changes.size() <= group) changes.resize(group + 1);
  if (w.register_changes < changes[group].size()) {
    if (changes[group][w.register_changes] == w.now) return;
    Inst other = w.launch->program->code[changes[group][w.register_changes]];
    report(w, i, 0, "another warp of its warpgroup has executed " + describe_source(*w.launch, other) + " instead");
  }
  changes[group].push_back(w.now);
  for (std::size_t n = group * kWarpsOfAGroup;
       n < std::min<std::size_t>((group + 1) * kWarpsOfAGroup, w.block->warps.size()); ++n)
    if (w.block->warps[n].exited == kAllLanes && w.block->warps[n].register_changes < changes[group].size())
      report(w, i, 0, "warp " + std::to_string(n) + " of its warpgroup has exited without it");
}

// imm: registers; mode 1: inc.
void set_registers(Warp& w, const Inst& i, Mask lanes) {
  const auto wanted = static_cast<std::uint32_t>(i.imm);
  if ((lanes | w.exited) != kAllLanes)
    report(w, i, std::countr_zero(lanes), "setmaxnreg without all lanes of the warp");
  if (wanted < 24 || wanted > 256 || wanted % 8 != 0)
    report(w, i, std::countr_zero(lanes),
           "setmaxnreg to " + std::to_string(wanted) + ": a multiple of 8 from 24 to 256 is needed");
  const bool increases = i.mode != 0;
  if (w.register_limit != 0 && (increases ? wanted < w.register_limit : wanted > w.register_limit))
    report(w, i, std::countr_zero(lanes),
           std::string("setmaxnreg.") + (increases ? "inc" : "dec") + " to " + std::to_string(wanted) + " from " +
               std::to_string(w.register_limit));
  std::uint32_t others = 0;
  for (const Warp& warp : w.block->warps)
    if (&warp != &w && warp.exited != kAllLanes) others += registers_of(warp);
  if (increases && others + wanted > at_entry(*w.block) * w.block->warps.size() && wanted > registers_of(w)) {
    each_lane(lanes, [&](int l) { w.pc[static_cast<std::size_t>(l)] = w.now; });  // until others have given some up
    return;
  }
  check_group(w, i);
  w.register_limit = wanted;
  ++w.register_changes;
  ++w.block->progress;
}

}  // namespace

bool bind_registers(Binder& b) {
  if (b.op() != "setmaxnreg") return false;
  b.out.mode = static_cast<std::uint8_t>(b.take("inc"));
  if (b.out.mode == 0 && !b.take("dec")) return false;
  b.take("sync");
  b.take("aligned");
  b.take("u32");
  b.out.imm = static_cast<std::int64_t>(b.immediate(0));
  b.out.fn = &set_registers;
  b.out.flow = Flow::kYield;
  return true;
}

}  // namespace kf::emulator
