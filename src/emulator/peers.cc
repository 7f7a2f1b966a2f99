// SPDX-License-Identifier: Apache-2.0
#include "peers.h"

#include <algorithm>

#include "race.h"

namespace kf::emulator {
namespace {

std::string block_of(const Block& block) {
  return "block " + std::to_string(block.rank) + " of the cluster";
}

Inst at_source(std::uint32_t source) {
  Inst where;
  where.source = source;
  return where;
}

// Whether a thread of the block, all of which have exited, knew of what another block did.
bool known_to(const Block& block, const Block& other, std::uint32_t warp, std::uint32_t time) {
  return std::ranges::any_of(block.warps,
                             [&](const Warp& one) { return race_ordered_across(one, other.linear, warp, time); });
}

bool targets(const AsyncCopy& copy, const Block& block) {
  const std::byte *first = block.shared.data(), *end = first + block.shared.size();
  const bool arrives = copy.kind == AsyncCopy::Kind::kMbarrier || copy.kind == AsyncCopy::Kind::kArrival;
  return (arrives && copy.barrier_block == &block) ||
         std::ranges::any_of(copy.parts, [&](const AsyncPart& part) { return part.to >= first && part.to < end; });
}

}  // namespace

void peer_access(Warp& w, const Inst& i, int lane, Block& owner, const std::string& what) {
  if (owner.done())
    report(
        w, i, lane,
        Found{Checker::kCluster, what + " of " + block_of(owner) +
                                     ", which has exited: barrier.cluster.arrive here and barrier.cluster.wait there "
                                     "(cluster.sync()) must come behind the last access to a peer"});
  if (!w.launch->check_races) return;
  if (owner.first_release == 0 || owner.first_release > w.fence(FenceKnowledge::kAcquired))
    report(w, i, lane,
           Found{Checker::kCluster,
                 what + " of " + block_of(owner) +
                     ", which need not have started: barrier.cluster.arrive there and barrier.cluster.wait here "
                     "(cluster.sync()) must come before the first access to a peer"});
  if (i.is_bulk) return;
  const std::size_t warps = w.block->warps.size();
  owner.visits.resize(w.block->cluster->blocks.size() * warps);
  owner.visits[w.block->rank * warps + w.index] = {w.clock[w.index], i.source, static_cast<std::uint8_t>(lane)};
}

void peer_seen(Block& block, std::uint32_t rank, std::uint32_t warp, std::uint32_t time) {
  if (block.visits.empty()) return;
  PeerVisit& visit = block.visits[rank * block.warps.size() + warp];
  if (visit.time <= time) visit.time = 0;
}

void peer_completes(Block& block, const Block& issuer, const std::vector<std::uint32_t>& clock) {
  for (std::uint32_t n = 0; n < block.warps.size(); ++n) peer_seen(block, issuer.rank, n, clock[n]);
}

void peers_met(Cluster& cluster) {
  for (auto& block : cluster.blocks)
    for (std::size_t n = 0; n < block->visits.size() && !block->done(); ++n)
      if (cluster.blocks[n / block->warps.size()]->warps[n % block->warps.size()].exited == kAllLanes)
        block->visits[n].time = 0;
}

void peer_exits(Warp& w, const Inst& inst, int lane) {
  const Block& block = *w.block;
  const Launch& launch = *w.launch;
  if (!launch.check_races) return;
  const std::string end = ", exits at " + describe_source(launch, inst);
  const SourcePlace exit = source_place(launch, inst.source, "exits");
  for (std::size_t n = 0; n < block.visits.size(); ++n) {
    const PeerVisit& visit = block.visits[n];
    const Block& other = *block.cluster->blocks[n / block.warps.size()];
    const Warp& visitor = other.warps[n % block.warps.size()];
    if (visit.time == 0 || known_to(block, other, visitor.index, visit.time)) continue;
    report(visitor, at_source(visit.source), visit.lane,
           Found{Checker::kCluster,
                 "accesses shared memory of " + block_of(block) + ", which may have exited: its last thread, " +
                     describe_thread(w, lane) + end +
                     " without waiting for this; barrier.cluster.arrive here and barrier.cluster.wait there "
                     "(cluster.sync()) must come behind the last access to a peer",
                 {exit}});
  }
  for (const auto& other : block.cluster->blocks)
    for (const AsyncCopy& copy : other->copies)
      if (other.get() != &block && targets(copy, block))
        report(
            other->warps[copy.warp], at_source(copy.source), copy.lane,
            Found{Checker::kCluster,
                  "writes to shared memory of " + block_of(block) + ", whose last thread, " + describe_thread(w, lane) +
                      end + " before the write has arrived: it must wait for its mbarrier",
                  {exit}});
}

}  // namespace kf::emulator
