// SPDX-License-Identifier: Apache-2.0
#include "executor.h"

#include "barrier.h"
#include "calls.h"
#include "cluster.h"
#include "lanes.h"
#include "peers.h"
#include "race.h"
#include "undefined.h"

namespace kf::emulator {
namespace {

constexpr std::uint32_t kNowhere = 0xffff'ffffu;
constexpr std::uint64_t kPatience = 32;  // back edges before a looping group gives way to other lanes
constexpr std::uint64_t kTurn = 512;     // instructions that a group out of turn may run

struct Group {
  Mask lanes = 0;
  std::uint32_t pc = 0;
  std::uint32_t meet = kNowhere;  // lowest pc of the other lanes that could run
};

Group lowest(const Warp& w, Mask ready) {
  Group g;
  if (ready == kAllLanes) {  // usually they stand together
    std::uint32_t differ = 0;
    for (int l = 1; l < kLanes; ++l) differ |= w.pc[static_cast<std::size_t>(l)] ^ w.pc[0];
    if (differ == 0) return {ready, w.pc[0], kNowhere};
  }
  g.pc = kNowhere;
  for (Mask rest = ready; rest != 0; rest &= rest - 1) g.pc = std::min(g.pc, w.pc[std::countr_zero(rest)]);
  for (Mask rest = ready; rest != 0; rest &= rest - 1) {
    const int l = std::countr_zero(rest);
    if (w.pc[l] == g.pc)
      g.lanes |= Mask{1} << l;
    else
      g.meet = std::min(g.meet, w.pc[l]);
  }
  return g;
}

Group out_of_turn(Warp& w, Mask ready) {  // the lanes that stand with a randomly drawn one
  int skip = static_cast<int>(w.block->cluster->draw() % static_cast<std::uint64_t>(std::popcount(ready)));
  Mask rest = ready;
  while (skip-- > 0) rest &= rest - 1;
  Group g;
  g.pc = w.pc[std::countr_zero(rest)];
  for (rest = ready; rest != 0; rest &= rest - 1)
    if (w.pc[std::countr_zero(rest)] == g.pc) g.lanes |= Mask{1} << std::countr_zero(rest);
  return g;
}

void set_pc(Warp& w, Mask lanes, std::uint32_t pc) {
  if (lanes == kAllLanes) return w.pc.fill(pc);
  for (; lanes != 0; lanes &= lanes - 1) w.pc[std::countr_zero(lanes)] = pc;
}

void exit_lanes(Warp& w, const Inst& inst, Mask lanes) {
  w.exited |= lanes;
  w.block->exited += static_cast<std::uint32_t>(std::popcount(lanes));
  for (Mask rest = lanes; rest != 0; rest &= rest - 1) w.wait[std::countr_zero(rest)] = Wait::kExited;
  ++w.block->progress;
  if (w.exited == kAllLanes && ++w.block->warps_done == w.block->warps.size() && w.block->cluster->blocks.size() > 1)
    peer_exits(w, inst, std::countr_zero(lanes));
  leave_cluster(*w.block, static_cast<std::uint32_t>(std::popcount(lanes)));
  release_after_exit(*w.block);
}

// Lanes at the same kWarpSync instruction with the same membermask go on together once all members that
// have not exited are there. bar.warp.sync members may stand at different ones.
void settle_sync(Warp& w, const Inst& inst, std::uint32_t pc, Mask members) {
  const Mask needed = members & ~w.exited;
  const Program& program = *w.launch->program;
  const bool plain_barrier = inst.d == kNoSlot && inst.a == kNoSlot && inst.imm == 0;
  Mask here = 0;
  for (Mask rest = w.waiting & needed; rest != 0; rest &= rest - 1) {
    const int l = std::countr_zero(rest);
    if (w.wait[l] != Wait::kWarpSync || w.sync_mask[l] != members) continue;
    if (w.pc[l] == pc || (plain_barrier && program.code[w.pc[l]].fn == inst.fn)) here |= Mask{1} << l;
  }
  if (here != needed) return;
  w.now = pc;
  if (w.has_undefined) follow_exchange(w, inst, pc, here);
  inst.fn(w, inst, here);
  if (plain_barrier) race_warp_sync(w, here);
  for (Mask rest = here; rest != 0; rest &= rest - 1) {
    const int l = std::countr_zero(rest);
    ++w.pc[l];
    w.wait[l] = Wait::kNone;
  }
  w.waiting &= ~here;
}

void wait_for_members(Warp& w, const Inst& inst, std::uint32_t pc, Mask lanes) {
  const std::uint32_t* members = w.reg<std::uint32_t>(inst.e);
  for (Mask rest = lanes; rest != 0; rest &= rest - 1) {
    const int l = std::countr_zero(rest);
    if ((members[l] >> l & 1) == 0)
      report(w, inst, l, Found{Checker::kMask, "executes with a member mask that does not name its own lane"});
    w.pc[l] = pc;
    w.wait[l] = Wait::kWarpSync;
    w.sync_mask[l] = members[l];
    w.waiting |= Mask{1} << l;
  }
  Mask settled = 0;
  for (Mask rest = lanes; rest != 0; rest &= rest - 1) {
    const Mask mask = members[std::countr_zero(rest)];
    if ((settled & mask) == mask) continue;
    settled |= mask;
    settle_sync(w, inst, pc, mask);
  }
}

// Pops a return address of each lane; lanes of the entry function exit.
void return_lanes(Warp& w, const Inst& inst, Mask lanes) {
  Mask done = 0;
  for (Mask rest = lanes; rest != 0; rest &= rest - 1) {
    const int l = std::countr_zero(rest);
    if (w.calls[static_cast<std::size_t>(l)].empty())
      done |= Mask{1} << l;
    else
      end_call(w, l);
  }
  if (done != 0) exit_lanes(w, inst, done);
}

void branch_indexed(Warp& w, const Inst& inst, Mask lanes) {
  const std::uint32_t* targets = w.launch->program->extras.data() + inst.extra;
  const std::uint32_t* index = w.reg<std::uint32_t>(inst.a);
  for (Mask rest = lanes; rest != 0; rest &= rest - 1) {
    const int l = std::countr_zero(rest);
    if (index[l] >= inst.extras)
      report(w, inst, l,
             "brx.idx with index " + std::to_string(index[l]) + " of " + std::to_string(inst.extras) + " targets");
    w.pc[l] = targets[index[l]];
  }
}

enum class Next : std::uint8_t { kSame, kChoose, kPause };  // same group, choose anew, let other warps run

// Everything but kNext and kBranch. Leaves each lane's pc up to date.
Next flow(Warp& w, const Inst& inst, std::uint32_t pc, Mask lanes, Mask exec) {
  set_pc(w, lanes, pc + 1);
  if (exec == 0) return Next::kChoose;
  // Before it ends or waits, other than for its block, its writes become visible, one a turn.
  if (!w.delayed.empty() && inst.flow >= Flow::kReturn && inst.flow != Flow::kBarrier) {
    set_pc(w, lanes, pc);
    return Next::kPause;
  }
  w.now = pc;
  switch (inst.flow) {
    case Flow::kBranchIndexed:
      branch_indexed(w, inst, exec);
      break;
    case Flow::kCall:
      for (Mask rest = exec; rest != 0; rest &= rest - 1) {
        const int l = std::countr_zero(rest);
        CallFrame& made = w.calls[static_cast<std::size_t>(l)].emplace_back();
        made.return_pc = pc + 1;
        made.stack_used = w.stack_used[static_cast<std::size_t>(l)];
        w.pc[l] = static_cast<std::uint32_t>(inst.imm);
      }
      break;
    case Flow::kCallFrame:
      call_with_frame(w, inst, pc, exec);
      break;
    case Flow::kReturn:
      return_lanes(w, inst, exec);
      break;
    case Flow::kExit:
      exit_lanes(w, inst, exec);
      break;
    case Flow::kWarpSync:
      wait_for_members(w, inst, pc, exec);
      break;
    case Flow::kBarrier:
      arrive_at_barrier(w, inst, pc, exec);
      break;
    case Flow::kClusterBarrier:
      wait_for_cluster(w, inst, pc, exec);
      break;
    case Flow::kYield:
      if (inst.fn != nullptr) inst.fn(w, inst, exec);
      return Next::kPause;
    case Flow::kUnsupported:
      report(w, inst, std::countr_zero(exec),
             Found{Checker::kUnsupported, "is not supported by the emulator: " +
                                              w.launch->program->unsupported[static_cast<std::size_t>(inst.imm)]});
    default:
      break;
  }
  return Next::kChoose;
}

bool all_together(const Warp& w, const Inst& inst, Mask lanes, Mask exec) {
  if (lanes != exec) return false;
  const std::uint32_t* members = w.reg<std::uint32_t>(inst.e);
  const Mask first = members[std::countr_zero(exec)];
  if ((first & ~w.exited) != exec) return false;
  for (Mask rest = exec; rest != 0; rest &= rest - 1)
    if (members[std::countr_zero(rest)] != first) return false;
  return true;
}

}  // namespace

std::uint64_t run_warp(Warp& w, std::uint64_t quantum) {
  const Inst* code = w.launch->program->code.data();
  std::uint64_t done = 0, lane_steps = 0;
  std::uint64_t* executed = nullptr;
  if (w.launch->profile) {
    w.launch->counters.executed.resize(w.launch->program->code.size());
    executed = w.launch->counters.executed.data();
  }
  bool pause = false;
  while (done < quantum && !pause) {
    const Mask ready = ~w.exited & ~w.waiting;
    if (ready == 0) break;
    const bool give_way = w.rotate > kPatience;
    Group g = give_way ? out_of_turn(w, ready) : lowest(w, ready);
    const bool alone = g.lanes == ready;
    std::uint64_t stop = give_way ? std::min(quantum, done + kTurn) : quantum;
    if (give_way) w.rotate = 0;
    for (;;) {
      const Inst& inst = code[g.pc];
      Mask exec = g.lanes;
      if (inst.guard != kNoSlot) exec &= inst.guard_negated ? ~w.preds[inst.guard] : w.preds[inst.guard];
      ++done;
      if (executed != nullptr) ++executed[g.pc];
      if (w.has_undefined) [[unlikely]]
        follow_undefined(w, inst, g.pc, g.lanes, exec);
      lane_steps += exec == kAllLanes ? kLanes : static_cast<std::uint64_t>(std::popcount(exec));
      if (inst.flow == Flow::kNext) {
        w.now = g.pc;
        if (exec != 0) inst.fn(w, inst, exec);
        ++g.pc;
      } else if (inst.flow == Flow::kBranch) {
        const auto target = static_cast<std::uint32_t>(inst.imm);
        if (exec != 0 && exec != g.lanes) {
          set_pc(w, exec, target);
          set_pc(w, g.lanes & ~exec, g.pc + 1);
          w.rotate += target <= g.pc && !alone;
          break;
        }
        if (exec != 0 && target <= g.pc && !alone && ++w.rotate > kPatience) {
          set_pc(w, g.lanes, target);
          break;
        }
        g.pc = exec != 0 ? target : g.pc + 1;
      } else if (inst.flow == Flow::kSwitch) {
        w.now = g.pc;
        if (exec != 0) inst.fn(w, inst, exec);
        ++g.pc;
        pause = exec != 0 && w.block->cluster->draw() % 4 == 0;
        if (pause) {
          set_pc(w, g.lanes, g.pc);
          break;
        }
      } else if (inst.flow == Flow::kWarpSync && all_together(w, inst, g.lanes, exec)) {
        w.now = g.pc;
        if (w.has_undefined) follow_exchange(w, inst, g.pc, exec);
        inst.fn(w, inst, exec);
        if (inst.d == kNoSlot && inst.a == kNoSlot && inst.imm == 0) race_warp_sync(w, exec);
        ++g.pc;
      } else {
        pause = flow(w, inst, g.pc, g.lanes, exec) == Next::kPause;
        if (pause && !alone) w.rotate += kPatience / 4;
        break;
      }
      if (g.pc >= g.meet || done >= stop) {
        set_pc(w, g.lanes, g.pc);
        break;
      }
    }
  }
  if (!w.delayed.empty()) settle_one(w);
  w.launch->counters.warp_instructions += done;
  w.launch->counters.lane_instructions += lane_steps;
  return done;
}

}  // namespace kf::emulator
