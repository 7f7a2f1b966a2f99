// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cstring>

#include "block.h"
#include "decoder.h"
#include "lanes.h"

namespace kf::emulator {
namespace {

struct SpecialName {
  std::string_view name;
  Special what;
};
constexpr SpecialName kSpecials[] = {
    {"%tid.x", Special::kTidX},
    {"%tid.y", Special::kTidY},
    {"%tid.z", Special::kTidZ},
    {"%ntid.x", Special::kNtidX},
    {"%ntid.y", Special::kNtidY},
    {"%ntid.z", Special::kNtidZ},
    {"%ctaid.x", Special::kCtaidX},
    {"%ctaid.y", Special::kCtaidY},
    {"%ctaid.z", Special::kCtaidZ},
    {"%nctaid.x", Special::kNctaidX},
    {"%nctaid.y", Special::kNctaidY},
    {"%nctaid.z", Special::kNctaidZ},
    {"%laneid", Special::kLaneid},
    {"%warpid", Special::kWarpid},
    {"%nwarpid", Special::kNwarpid},
    {"%smid", Special::kSmid},
    {"%nsmid", Special::kNsmid},
    {"%gridid", Special::kGridid},
    {"%lanemask_eq", Special::kLanemaskEq},
    {"%lanemask_le", Special::kLanemaskLe},
    {"%lanemask_lt", Special::kLanemaskLt},
    {"%lanemask_ge", Special::kLanemaskGe},
    {"%lanemask_gt", Special::kLanemaskGt},
    {"%clusterid.x", Special::kClusteridX},
    {"%clusterid.y", Special::kClusteridY},
    {"%clusterid.z", Special::kClusteridZ},
    {"%nclusterid.x", Special::kNclusteridX},
    {"%nclusterid.y", Special::kNclusteridY},
    {"%nclusterid.z", Special::kNclusteridZ},
    {"%cluster_ctaid.x", Special::kClusterCtaidX},
    {"%cluster_ctaid.y", Special::kClusterCtaidY},
    {"%cluster_ctaid.z", Special::kClusterCtaidZ},
    {"%cluster_nctaid.x", Special::kClusterNctaidX},
    {"%cluster_nctaid.y", Special::kClusterNctaidY},
    {"%cluster_nctaid.z", Special::kClusterNctaidZ},
    {"%cluster_ctarank", Special::kClusterCtarank},
    {"%cluster_nctarank", Special::kClusterNctarank},
    {"%is_explicit_cluster", Special::kIsExplicitCluster},
    {"%dynamic_smem_size", Special::kDynamicSmemSize},
    {"%total_smem_size", Special::kTotalSmemSize},
    {"%aggr_smem_size", Special::kAggrSmemSize},
    {"%reserved_smem_offset_begin", Special::kReservedSmemBegin},
    {"%reserved_smem_offset_end", Special::kReservedSmemEnd},
    {"%reserved_smem_offset_cap", Special::kReservedSmemCap},
    {"%envreg1", Special::kEnvreg1},
    {"%envreg2", Special::kEnvreg2},
};

void trap(Warp& w, const Inst& i, Mask lanes) {
  report(w, i, std::countr_zero(lanes), "executes trap");
}
void breakpoint(Warp& w, const Inst& i, Mask lanes) {
  report(w, i, std::countr_zero(lanes), "executes brkpt, which is an error without a debugger");
}
void nothing(Warp&, const Inst&, Mask) {}
// Launches run one after another, so nothing has to wait; the checkers have to know. See plan_order.h.
void wait_for_dependency(Warp& w, const Inst&, Mask) {
  settle_all(w);  // what this warp has written was written before
  w.fence(FenceKnowledge::kWaited) = 1;
  w.launch->waited = true;
  if (!w.block->triggered) w.launch->waited_before_trigger = true;
}
void trigger_dependents(Warp& w, const Inst&, Mask) {
  w.block->triggered = true;
}

}  // namespace

Slot Decoder::special(std::string_view name, int width_bits) {
  if (width_bits != 16 && width_bits != 32 && width_bits != 64) return kNoSlot;
  if (name.starts_with("%envreg") || name.starts_with("%pm") || name == "%current_graph_exec" ||
      name == "%reserved_smem_offset_0" || name == "%reserved_smem_offset_1")
    if (name != "%envreg1" && name != "%envreg2") return constant(0, width_bits);  // nobody has set them
  if (width_bits == 64)
    for (std::size_t n = 0; n < module_.functions.size(); ++n)
      if (module_.functions[n].name == name && !module_.functions[n].entry)
        return constant(kCodeBase + n * kCodeStep, 64);
  auto row = std::ranges::find(kSpecials, name, &SpecialName::name);
  if (row == std::end(kSpecials)) return kNoSlot;
  auto [at, fresh] = specials_.try_emplace({row->what, width_bits}, 0);
  if (fresh) {
    at->second = new_slot(width_bits);
    program_.specials.push_back({row->what, at->second, width_bits / 8});
  }
  return at->second;
}

bool Decoder::decode_flow(const PtxInstruction& in, Binder& b) {
  const std::string_view op = b.op();
  Inst inst;
  guard(inst, in);
  if (op == "bra") {
    if (b.operand(0).kind != Operand::Kind::kLabel) b.refuse("the label '" + b.operand(0).name + "' does not exist");
    inst.flow = Flow::kBranch;
    branches_.push_back({program_.code.size(), b.operand(0).index});
    emit(inst);
  } else if (op == "brx") {
    decode_branch_indexed(in, b);
  } else if (op == "call") {
    decode_call(in, b);
  } else if (op == "ret" || op == "exit") {
    inst.flow = op == "ret" ? Flow::kReturn : Flow::kExit;
    emit(inst);
  } else if (op == "trap" || op == "brkpt") {
    inst.fn = op == "trap" ? &trap : &breakpoint;
    emit(inst);
  } else if (op == "nanosleep") {
    inst.flow = Flow::kYield;
    emit(inst);
  } else if (op == "pmevent") {
    inst.fn = &nothing;
    emit(inst);
  } else if (op == "griddepcontrol") {
    inst.fn = b.take("wait") ? &wait_for_dependency : &trigger_dependents;
    emit(inst);
  } else {
    return false;
  }
  return true;
}

void Decoder::decode_branch_indexed(const PtxInstruction& in, Binder& b) {
  const PtxFunction& function = module_.functions[function_];
  if (b.operand(1).kind != Operand::Kind::kLabel || !function.branch_targets.contains(b.operand(1).index))
    b.refuse("brx.idx needs a label with .branchtargets");
  const std::vector<std::int32_t>& targets = function.branch_targets.at(b.operand(1).index);
  Inst inst;
  guard(inst, in);
  inst.flow = Flow::kBranchIndexed;
  inst.a = b.source(0, 32);
  inst.extras = static_cast<std::uint32_t>(targets.size());
  inst.extra = static_cast<std::uint32_t>(program_.extras.size());
  for (const std::int32_t target : targets) {
    const std::uint32_t at = add_extras({0});
    branches_.push_back({program_.code.size(), target, at});
  }
  emit(inst);
}

}  // namespace kf::emulator
