// SPDX-License-Identifier: Apache-2.0
// mapa, getctarank, barrier.cluster: PTX ISA 9.0 sections 9.7.9 and 9.7.13.
#include "access.h"
#include "cluster.h"
#include "lanes.h"
#include "peers.h"

namespace kf::emulator {
namespace {

// A shared::cluster address carries rank + 1 of its block in bits 24 and up; 0 there is the own block.
template <class T>
void mapa(Warp& w, const Inst& i, Mask lanes) {
  T* d = w.reg<T>(i.d);
  const T* a = w.reg<T>(i.a);
  const std::uint32_t* rank = w.reg<std::uint32_t>(i.b);
  const auto blocks = w.block->cluster->blocks.size();
  for (Mask rest = lanes; rest != 0; rest &= rest - 1) {
    const int l = std::countr_zero(rest);
    if (rank[l] >= blocks)
      report(w, i, l, "mapa to block " + std::to_string(rank[l]) + " of a cluster of " + std::to_string(blocks));
    const T low = a[l] & T{0xff'ffff};
    d[l] = static_cast<T>(low | (T{rank[l]} + 1) << 24) + static_cast<T>(i.imm);
  }
}
template <class T>
void get_rank(Warp& w, const Inst& i, Mask lanes) {
  const T* a = w.reg<T>(i.a);
  each_lane(lanes, [&](int l) {
    const auto rank = static_cast<std::uint32_t>(a[l] >> 24) & 0xff;
    w.reg<std::uint32_t>(i.d)[l] = rank == 0 ? w.block->rank : rank - 1;
  });
}

// What a wait for the cluster's last phase orders.
void pass(Warp& w) {
  race_join(w, w.block->phase_clock);
  race_acquire(w, w.block->cluster->phase_fences);
}

bool settle(Cluster& cluster, std::uint32_t fences) {
  if (cluster.arrived == 0 || cluster.arrived < cluster.threads - cluster.exited) return false;
  cluster.arrived = 0;
  ++cluster.phase;
  cluster.phase_fences = fences;
  peers_met(cluster);
  for (auto& block : cluster.blocks) {
    ++block->progress;
    block->phase_clock = block->cluster_clock;
    for (Warp& warp : block->warps) {
      bool passed = false;
      for (Mask rest = warp.waiting; rest != 0; rest &= rest - 1) {
        const int l = std::countr_zero(rest);
        if (warp.wait[static_cast<std::size_t>(l)] != Wait::kClusterBarrier) continue;
        if (!passed) pass(warp);
        passed = true;
        warp.wait[static_cast<std::size_t>(l)] = Wait::kNone;
        warp.cluster_phase[static_cast<std::size_t>(l)] = 0;
        ++warp.pc[static_cast<std::size_t>(l)];
        warp.waiting &= ~(Mask{1} << l);
      }
    }
  }
  return true;
}

void arrive(Warp& w, const Inst& i, Mask lanes) {
  Cluster& cluster = *w.block->cluster;
  for (Mask rest = lanes; rest != 0; rest &= rest - 1) {
    const int l = std::countr_zero(rest);
    if (w.cluster_phase[static_cast<std::size_t>(l)] != 0)
      report(w, i, l, "arrives at the cluster's barrier twice without a wait");
    w.cluster_phase[static_cast<std::size_t>(l)] = cluster.phase + 1;
    ++cluster.arrived;
  }
  race_release(w);
  race_publish(w, w.block->cluster_clock);
  settle(cluster, w.launch->fences);
}

}  // namespace

void wait_for_cluster(Warp& w, const Inst& inst, std::uint32_t pc, Mask lanes) {
  const Cluster& cluster = *w.block->cluster;
  bool passed = false;
  for (Mask rest = lanes; rest != 0; rest &= rest - 1) {
    const int l = std::countr_zero(rest);
    std::uint64_t& phase = w.cluster_phase[static_cast<std::size_t>(l)];
    if (phase == 0) report(w, inst, l, "waits at the cluster's barrier without having arrived");
    if (phase - 1 < cluster.phase) {
      phase = 0;  // complete already; pc is behind the wait
      if (!passed) pass(w);
      passed = true;
      continue;
    }
    w.pc[static_cast<std::size_t>(l)] = pc;
    w.wait[static_cast<std::size_t>(l)] = Wait::kClusterBarrier;
    w.waiting |= Mask{1} << l;
  }
}

void leave_cluster(Block& block, std::uint32_t threads) {
  block.cluster->exited += threads;
  settle(*block.cluster, block.launch->fences);
}

bool bind_cluster(Binder& b) {
  const std::string_view op = b.op();
  if (op == "mapa" || op == "getctarank") {
    if (!b.take("shared::cluster")) b.out.imm = static_cast<std::int64_t>(kSharedWindow);
    const bool wide = bits_of(b.take_type()) == 64;
    const bool map = op == "mapa";
    b.out.d = b.dest(0, map && wide ? 64 : 32);
    const Operand& address = b.operand(1);
    b.out.a = b.source(address, wide ? 64 : 32);
    if (map) b.out.b = b.source(2, 32);
    b.out.fn = map ? (wide ? &mapa<std::uint64_t> : &mapa<std::uint32_t>)
                   : (wide ? &get_rank<std::uint64_t> : &get_rank<std::uint32_t>);
    return true;
  }
  if (op != "barrier" || !b.take("cluster")) return false;
  const int what = b.take_one({"arrive", "wait"});
  b.take_one({"acquire", "release", "relaxed"});
  b.take("aligned");
  if (what == 0)
    b.out.fn = &arrive;
  else
    b.out.flow = Flow::kClusterBarrier;
  return what >= 0;
}

}  // namespace kf::emulator
