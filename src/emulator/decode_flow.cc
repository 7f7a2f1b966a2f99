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
    {"%dynamic_smem_size", Special::kDynamicSmemSize},
    {"%total_smem_size", Special::kTotalSmemSize},
    {"%aggr_smem_size", Special::kAggrSmemSize},
    {"%reserved_smem_offset_begin", Special::kReservedSmemBegin},
    {"%reserved_smem_offset_end", Special::kReservedSmemEnd},
    {"%reserved_smem_offset_cap", Special::kReservedSmemCap},
    {"%envreg1", Special::kEnvreg1},
    {"%envreg2", Special::kEnvreg2},
};

void copy_lanes(Warp& w, const Inst& i, Mask lanes) {  // extras: from, to, bytes of each parameter
  const std::uint32_t* list = w.launch->program->extras.data() + i.extra;
  const std::size_t frame = w.launch->program->local_bytes;
  each_lane(lanes, [&](int l) {
    const std::size_t base = static_cast<std::size_t>(l) * frame;
    for (std::uint32_t k = 0; k < i.extras; ++k) {
      const std::uint32_t from = list[3 * k], to = list[3 * k + 1], bytes = list[3 * k + 2];
      std::memmove(w.local + base + to, w.local + base + from, bytes);
      std::memmove(w.local_written + base + to, w.local_written + base + from, bytes);
    }
  });
}

void trap(Warp& w, const Inst& i, Mask lanes) {
  report(w, i, std::countr_zero(lanes), "executes trap");
}
void nothing(Warp&, const Inst&, Mask) {}
void wait_for_dependency(Warp& w, const Inst&, Mask) {
  w.block->dependency_met = true;
}

}  // namespace

Slot Decoder::special(std::string_view name, int width_bits) {
  if (width_bits != 32 && width_bits != 64) return kNoSlot;
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
  } else if (op == "trap") {
    inst.fn = &trap;
    emit(inst);
  } else if (op == "nanosleep") {
    inst.flow = Flow::kYield;
    emit(inst);
  } else if (op == "griddepcontrol" || op == "setmaxnreg") {  // launches run one after another
    inst.fn = op == "griddepcontrol" && b.take("wait") ? &wait_for_dependency : &nothing;
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

void Decoder::copy_params(const PtxInstruction& in, const std::vector<std::pair<std::int32_t, std::int32_t>>& from_to) {
  if (from_to.empty()) return;
  Inst inst;
  guard(inst, in);
  inst.fn = &copy_lanes;
  inst.extras = static_cast<std::uint32_t>(from_to.size());
  inst.extra = static_cast<std::uint32_t>(program_.extras.size());
  for (const auto& [from, to] : from_to) {
    const std::int64_t bytes = std::min(variable(from).bytes, variable(to).bytes);
    add_extras({static_cast<std::uint32_t>(address_of(from)), static_cast<std::uint32_t>(address_of(to)),
                static_cast<std::uint32_t>(bytes)});
  }
  emit(inst);
}

// call (results), name, (arguments): arguments are copied in, results out, around the jump itself.
void Decoder::decode_call(const PtxInstruction& in, Binder& b) {
  std::size_t n = 0;
  std::vector<std::int32_t> results, arguments;
  auto take = [&](std::vector<std::int32_t>& into) {
    for (const Operand& part : b.operand(n).parts) {
      if (part.kind != Operand::Kind::kVariable) b.refuse("a call argument that is no .param variable");
      into.push_back(part.index);
    }
    ++n;
  };
  if (b.operand(n).kind == Operand::Kind::kVector) take(results);
  const Operand& target = b.operand(n++);
  if (n < b.operands() && b.operand(n).kind == Operand::Kind::kVector) take(arguments);
  if (target.kind != Operand::Kind::kName) b.refuse("an indirect call");
  const PtxFunction* callee = module_.find(target.name);
  if (callee == nullptr) b.refuse("a call of '" + target.name + "', which this module does not define");
  if (callee == &module_.functions[function_]) b.refuse("a recursive call of '" + target.name + "'");
  if (callee->params.size() != arguments.size() || callee->returns.size() != results.size())
    b.refuse("a call of '" + target.name + "' with another number of parameters");
  std::vector<std::pair<std::int32_t, std::int32_t>> into, out_of;
  for (std::size_t k = 0; k < arguments.size(); ++k) into.emplace_back(arguments[k], callee->params[k]);
  for (std::size_t k = 0; k < results.size(); ++k) out_of.emplace_back(callee->returns[k], results[k]);
  copy_params(in, into);
  Inst inst;
  guard(inst, in);
  inst.flow = Flow::kCall;
  calls_.emplace_back(program_.code.size(), target.name);
  caller_of_[program_.code.size()] = module_.functions[function_].name;
  emit(inst);
  copy_params(in, out_of);
}

}  // namespace kf::emulator
