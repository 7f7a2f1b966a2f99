// SPDX-License-Identifier: Apache-2.0
#include "barrier.h"

#include <algorithm>

#include "access.h"
#include "lanes.h"
#include "race.h"

namespace kf::emulator {
namespace {

constexpr std::uint8_t kAligned = 1;  // Inst::width

// A barrier.aligned must be executed by all threads of a warp together.
void check_alignment(Warp& warp, Mask waiting, const Inst& inst, std::uint32_t pc) {
  const Mask live = ~warp.exited;
  if (waiting == live && std::ranges::all_of(warp.pc, [&](std::uint32_t at) { return at == pc; })) return;
  for (Mask rest = live; rest != 0; rest &= rest - 1) {
    const int lane = std::countr_zero(rest);
    if ((waiting >> lane & 1) != 0 && warp.pc[lane] == pc) continue;
    const int here = std::countr_zero(waiting);
    report(
        warp, inst, here,
        Found{Checker::kBarrier,
              "barrier divergence: this thread waits here, while " + describe_thread(warp, lane) +
                  " of the same warp is at " + describe_source(*warp.launch, warp.launch->program->code[warp.pc[lane]]),
              {source_place(*warp.launch, warp.launch->program->code[warp.pc[lane]].source, "is at")}});
  }
}

Mask waiting_at(const Warp& warp, std::uint32_t id) {
  Mask waiting = 0;
  for (int l = 0; l < kLanes; ++l) waiting |= Mask{warp.wait[l] == Wait::kBarrier && warp.barrier[l] == id} << l;
  return waiting & warp.waiting;
}

void deliver(Warp& warp, const Inst& inst, int lane, const Barrier& barrier) {
  const Mask one = Mask{1} << lane;
  switch (static_cast<BarrierOp>(inst.mode)) {
    case BarrierOp::kRedPopc:
      warp.reg<std::uint32_t>(inst.d)[lane] = barrier.vote_count;
      break;
    case BarrierOp::kRedAnd:
      set_pred(warp, inst.d, one, barrier.vote_and ? one : 0);
      break;
    case BarrierOp::kRedOr:
      set_pred(warp, inst.d, one, barrier.vote_or ? one : 0);
      break;
    default:
      break;
  }
}

void release(Block& block, std::uint32_t id) {
  Barrier& barrier = block.barriers[id];
  const Program& program = *block.launch->program;
  for (Warp& warp : block.warps) {
    const Mask waiting = waiting_at(warp, id);
    if (waiting == 0) continue;
    const std::uint32_t pc = warp.pc[std::countr_zero(waiting)];
    const Inst& first = program.code[pc];
    if ((first.width & kAligned) != 0) check_alignment(warp, waiting, first, pc);
    each_lane(waiting, [&](int l) {
      if (program.code[warp.pc[l]].mode >= static_cast<std::uint8_t>(BarrierOp::kRedPopc))
        deliver(warp, program.code[warp.pc[l]], l, barrier);
      ++warp.pc[l];
      warp.wait[l] = Wait::kNone;
    });
    warp.waiting &= ~waiting;
    race_join(warp, barrier.clock);
  }
  std::vector<std::uint32_t> clock = std::move(barrier.clock);  // keeps its room
  std::ranges::fill(clock, 0u);
  barrier = {};
  barrier.clock = std::move(clock);
  ++block.progress;
  ++block.launch->counters.barriers;
}

bool complete(const Block& block, const Barrier& barrier) {
  if (barrier.arrived == 0) return false;
  return barrier.arrived >= (barrier.counted ? barrier.expected : block.threads - block.exited);
}

void arrive(Warp& warp, const Inst& inst, int lane) {
  Block& block = *warp.block;
  const std::uint32_t id = warp.reg<std::uint32_t>(inst.a)[lane];
  if (id >= block.barriers.size())
    report(warp, inst, lane, "barrier " + std::to_string(id) + " does not exist: 0 to 15 do");
  Barrier& barrier = block.barriers[id];
  const bool counted = inst.b != kNoSlot;
  const std::uint32_t expected = counted ? warp.reg<std::uint32_t>(inst.b)[lane] : 0;
  if (counted && (expected == 0 || expected % kLanes != 0))
    report(warp, inst, lane, "barrier for " + std::to_string(expected) + " threads: a multiple of 32 is needed");
  if (barrier.arrived != 0 && (barrier.counted != counted || barrier.expected != expected))
    report(warp, inst, lane,
           "barrier " + std::to_string(id) + " for " + std::to_string(expected) +
               " threads, but others wait at it for " + std::to_string(barrier.expected));
  barrier.counted = counted;
  barrier.expected = expected;
  ++barrier.arrived;
  const auto op = static_cast<BarrierOp>(inst.mode);
  if (op >= BarrierOp::kRedPopc) {
    const bool yes = (pred(warp, inst.c) >> lane & 1) != 0;
    barrier.vote_count += yes;
    barrier.vote_and &= yes;
    barrier.vote_or |= yes;
  }
  if (op == BarrierOp::kArrive) {
    ++warp.pc[lane];
  } else {
    warp.wait[lane] = Wait::kBarrier;
    warp.barrier[lane] = static_cast<std::uint8_t>(id);
    warp.waiting |= Mask{1} << lane;
  }
}

}  // namespace

void arrive_at_barrier(Warp& warp, const Inst& inst, std::uint32_t pc, Mask lanes) {
  Block& block = *warp.block;
  const std::uint32_t* ids = warp.reg<std::uint32_t>(inst.a);
  std::uint32_t named = 0;  // barriers that are arrived at; almost always one
  for (Mask rest = lanes; rest != 0; rest &= rest - 1) {
    const int lane = std::countr_zero(rest);
    warp.pc[lane] = pc;
    arrive(warp, inst, lane);
    named |= 1u << ids[lane];
  }
  for (std::uint32_t rest = named; rest != 0; rest &= rest - 1) {
    const auto id = static_cast<std::uint32_t>(std::countr_zero(rest));
    race_publish(warp, block.barriers[id].clock);
    if (complete(block, block.barriers[id])) release(block, id);
  }
}

void release_after_exit(Block& block) {
  for (std::uint32_t id = 0; id < block.barriers.size(); ++id)
    if (!block.barriers[id].counted && complete(block, block.barriers[id])) release(block, id);
}

bool bind_barrier(Binder& b) {
  const std::string_view op = b.op();
  if (op != "bar" && op != "barrier") return false;
  if (b.in.has("cluster")) return false;
  b.take("cta");
  const int what = b.take_one({"sync", "arrive", "red"});
  if (what < 0) return false;
  const bool aligned = b.take("aligned") || op == "bar";
  Inst& out = b.out;
  out.flow = Flow::kBarrier;
  out.width = aligned ? 1 : 0;
  std::size_t n = 0;
  if (what == 2) {
    const int kind = b.take_one({"popc", "and", "or"});
    b.take_type();
    out.mode = static_cast<std::uint8_t>(static_cast<int>(BarrierOp::kRedPopc) + kind);
    out.d = kind == 0 ? b.dest(0, 32) : b.pred_dest(b.operand(0));
    n = 1;
    out.c = b.pred_source(b.operand(b.operands() - 1));
    if (b.operands() == 4) out.b = b.source(2, 32);
  } else {
    out.mode = static_cast<std::uint8_t>(what == 0 ? BarrierOp::kSync : BarrierOp::kArrive);
    if (b.operands() == 2) out.b = b.source(1, 32);
  }
  out.a = b.source(n, 32);
  return what != 1 || out.b != kNoSlot;
}

}  // namespace kf::emulator
