// SPDX-License-Identifier: Apache-2.0
// The seeded schedule: turns of warps, blocks and clusters, dispatch in order, deadlock.
#include <algorithm>
#include <memory>

#include "dispatch.h"
#include "executor.h"

namespace kf::emulator {

namespace {

constexpr std::size_t kResidentBytes = std::size_t{1} << 29;  // storage of blocks that run side by side

void check_budget(Launch& launch, Warp& warp) {
  if (launch.counters.lane_instructions < launch.step_budget) return;
  const Mask live = ~warp.exited;
  const int lane = live != 0 ? std::countr_zero(live) : 0;
  report(warp, launch.program->code[live != 0 ? warp.pc[static_cast<std::size_t>(lane)] : warp.now], lane,
         Found{Checker::kBudget, "the launch has used its budget of " + std::to_string(launch.step_budget) +
                                     " steps: it loops without end, or waits for a block that cannot run"});
}

// One turn for each warp, in a random order; now and then only for some, so that other blocks come between. True when
// anything ran.
bool run_block(Block& block) {
  Launch& launch = *block.launch;
  std::vector<std::uint32_t> order(block.warps.size());
  for (std::size_t n = 0; n < order.size(); ++n) {
    const auto at = static_cast<std::size_t>(block.cluster->draw() % (n + 1));
    order[n] = order[at];
    order[at] = static_cast<std::uint32_t>(n);
  }
  const std::uint64_t word = block.cluster->draw();
  std::uint64_t turns = word % 4 != 0 ? order.size() : 1 + (word >> 8) % order.size();
  bool ran = false;
  for (const std::uint32_t n : order) {
    if (block.warps[n].exited == kAllLanes) continue;
    const bool did = run_warp(block.warps[n], launch.quantum) != 0;
    ran = ran || did;
    check_budget(launch, block.warps[n]);
    if (did && --turns == 0) break;
  }
  return ran;
}

[[noreturn]] void deadlock(const Block& block) {
  std::string text;
  std::vector<SourcePlace> places;
  const Warp* first = nullptr;
  int first_lane = 0;
  std::string last;
  for (const Warp& warp : block.warps)
    for (int l = 0; l < kLanes; ++l) {
      if ((warp.exited >> l & 1) != 0) continue;
      const Inst& inst = block.launch->program->code[warp.pc[static_cast<std::size_t>(l)]];
      if (first == nullptr) first = &warp, first_lane = l;
      std::string here = describe_source(*block.launch, inst);
      if (warp.wait[static_cast<std::size_t>(l)] == Wait::kWarpSync) {
        Mask absent = warp.sync_mask[static_cast<std::size_t>(l)] & ~warp.exited;
        for (int k = 0; k < kLanes; ++k)
          if (warp.wait[static_cast<std::size_t>(k)] == Wait::kWarpSync &&
              warp.pc[static_cast<std::size_t>(k)] == warp.pc[static_cast<std::size_t>(l)])
            absent &= ~(Mask{1} << k);
        if (absent != 0) here += " for lane " + std::to_string(std::countr_zero(absent)) + " of its member mask";
      }
      if (here == last || text.size() > 600) continue;
      last = here;
      if (!text.empty()) places.push_back(source_place(*block.launch, inst.source, "waits"));
      text += (text.empty() ? "" : "; ") + describe_thread(warp, l) + " waits at " + here;
    }
  const Inst& inst = block.launch->program->code[first->pc[static_cast<std::size_t>(first_lane)]];
  report(*first, inst, first_lane,
         Found{Checker::kDeadlock, "deadlock: no thread of the block can go on: " + text, std::move(places)});
}

}  // namespace

void turn(Cluster& cluster) {
  std::vector<Block*> open;
  for (auto& block : cluster.blocks)
    if (!block->done()) open.push_back(block.get());
  Block& block = *open[static_cast<std::size_t>(cluster.draw() % open.size())];
  bool ran = run_block(block);
  for (Block* other : open) ran = ran || (!other->done() && run_block(*other));
  for (auto& other : cluster.blocks) ran = ran || complete_one(*other);
  if (!ran && !cluster.done()) deadlock(block);
  for (Block* other : open)
    if (other->done()) finish_copies(*other);
}

std::uint64_t progress_of(const Cluster& cluster) {
  std::uint64_t sum = 0;
  for (const auto& block : cluster.blocks) sum += block->progress;
  return sum;
}

void run_grid(Launch& launch) {
  const auto& size = launch.shape.cluster;
  const std::uint64_t blocks_each = std::uint64_t{size[0]} * size[1] * size[2];
  const std::uint64_t total = clusters_of(launch.shape);
  std::uint64_t next = 0;
  std::vector<std::unique_ptr<Cluster>> resident, idle;
  std::size_t window = launch.shape.cooperative ? static_cast<std::size_t>(total) : launch.first_window;
  std::size_t idle_turns = 0;
  while (next < total || !resident.empty()) {
    while (next < total && resident.size() < window) {
      std::unique_ptr<Cluster> cluster = idle.empty() ? make_cluster(launch) : std::move(idle.back());
      if (!idle.empty()) idle.pop_back();
      start_cluster(*cluster, next++);
      resident.push_back(std::move(cluster));
    }
    const auto pick = static_cast<std::size_t>(launch.draw() % resident.size());
    Cluster& cluster = *resident[pick];
    const std::uint64_t before = progress_of(cluster);
    turn(cluster);
    idle_turns = progress_of(cluster) == before ? idle_turns + 1 : 0;
    if (cluster.done()) {
      idle.push_back(std::move(resident[pick]));
      resident.erase(resident.begin() + static_cast<std::ptrdiff_t>(pick));
    } else if (idle_turns > 4 * resident.size() && window * blocks_each < launch.resident_limit &&
               window * blocks_each * storage_bytes(*cluster.blocks[0]) < kResidentBytes) {
      window *= 2;  // perhaps they wait for a later block, which would be resident as well
      idle_turns = 0;
    }
  }
}

}  // namespace kf::emulator
