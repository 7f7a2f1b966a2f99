// SPDX-License-Identifier: Apache-2.0
#include "dispatch.h"

#include <algorithm>
#include <cstring>

#include "lanes.h"
#include "specials.h"
#include "undefined.h"

namespace kf::emulator {
namespace {

void write_slot(Warp& warp, Slot slot, int bytes, int lane, std::uint64_t value) {
  std::memcpy(warp.regs + slot + static_cast<std::size_t>(lane) * static_cast<std::size_t>(bytes), &value,
              static_cast<std::size_t>(std::min(bytes, 8)));
}

// Storage is reused by later blocks; constants stay in place.
std::unique_ptr<Block> make_block(Launch& launch) {
  auto block = std::make_unique<Block>();
  const Program& program = *launch.program;
  const LaunchShape& shape = launch.shape;
  block->launch = &launch;
  block->threads = shape.block[0] * shape.block[1] * shape.block[2];
  const std::size_t warps = (block->threads + kLanes - 1) / kLanes;
  const std::size_t register_bytes = (program.register_bytes + 63u) / 64u * 64u;
  block->registers.resize(warps * register_bytes + 64);
  block->predicates.resize(warps * program.predicates);
  block->local.resize(warps * kLanes * program.local_bytes);
  block->local_written.resize(block->local.size());
  const std::size_t shared = shape.dynamic_shared != 0
                                 ? std::size_t{launch.kernel->dynamic_shared_offset} + shape.dynamic_shared
                                 : launch.kernel->static_shared_bytes;
  block->shared.resize(shared);
  block->shared_written.resize(shared);
  block->shared_history.resize(shared / 4 + 1);
  block->warps.resize(warps);
  auto* base =
      reinterpret_cast<std::uint8_t*>((reinterpret_cast<std::uintptr_t>(block->registers.data()) + 63) / 64 * 64);
  for (std::size_t n = 0; n < warps; ++n) {
    Warp& warp = block->warps[n];
    warp.regs = base + n * register_bytes;
    warp.preds = block->predicates.data() + n * program.predicates;
    warp.block = block.get();
    warp.launch = &launch;
    warp.index = static_cast<std::uint32_t>(n);
    warp.local = block->local.data() + n * kLanes * program.local_bytes;
    warp.local_written = block->local_written.data() + n * kLanes * program.local_bytes;
    warp.calls.resize(kLanes);
    for (const Constant& constant : program.constants)
      for (int l = 0; l < kLanes; ++l) write_slot(warp, constant.slot, constant.bytes, l, constant.bits);
  }
  return block;
}

void start_warp(Warp& warp) {
  const Block& block = *warp.block;
  const Launch& launch = *block.launch;
  const std::uint32_t live = std::min<std::uint32_t>(block.threads - warp.index * kLanes, kLanes);
  warp.exited = live == kLanes ? 0 : ~((Mask{1} << live) - 1);
  warp.waiting = 0;
  std::uint64_t leftover = launch.seed ^ (block.linear << 8 | warp.index);
  warp.carry = static_cast<Mask>(splitmix64(leftover));
  warp.unset_draws = 0;
  warp.pc.fill(launch.kernel->entry_pc);
  warp.wait.fill(Wait::kNone);
  warp.rotate = 0;
  warp.cluster_phase.fill(0);
  warp.copy_group.fill(0);
  warp.bulk_group.fill(0);
  warp.proxy_fence.fill(0);
  warp.clock.assign(block.warps.size() + kFenceKnowledge, 0);
  warp.clock[warp.index] = 1;
  warp.lane_sync.fill(0);
  warp.whole_sync = 0;
  warp.part_syncs.clear();
  for (auto& stack : warp.calls) stack.clear();
  warp.stack_used.fill(0);
  warp.delayed.clear();
  warp.settling = warp.settling_met = false;
  warp.fence(FenceKnowledge::kNewest) = warp.block_writes_seen = launch.strong_writes;
  warp.places_read.clear();
  warp.register_limit = warp.register_changes = 0;
  warp.has_undefined = false;
  warp.undefined.reset();
  warp.preds[kTruePredicate] = kAllLanes;
  for (const SpecialUse& use : launch.program->specials)
    for (int l = 0; l < kLanes; ++l) write_slot(warp, use.slot, use.bytes, l, special_value(warp, use.what, l));
}

void start_block(Block& block, const std::array<std::uint32_t, 3>& ctaid) {
  Launch& launch = *block.launch;
  const auto& grid = launch.shape.grid;
  block.ctaid = ctaid;
  block.linear = ctaid[0] + std::uint64_t{grid[0]} * (ctaid[1] + std::uint64_t{grid[1]} * ctaid[2]);
  block.mbarriers.clear();
  block.copies.clear();
  block.cluster_clock.clear();
  block.phase_clock.clear();
  block.first_release = 0;
  block.visits.clear();
  block.fence_clock.clear();
  block.exited = block.warps_done = 0;
  block.register_changes.clear();
  block.triggered = false;
  block.met_writes = 0;
  block.barriers = {};
  std::ranges::fill(block.shared_written, std::uint8_t{0});
  std::ranges::fill(block.shared_history, WordHistory{});
  std::ranges::fill(block.local_written, std::uint8_t{0});
  for (std::byte& b : block.shared) b = static_cast<std::byte>(launch.seed * 131 + 0x5a);
  for (Warp& warp : block.warps) start_warp(warp);
}

}  // namespace

std::uint64_t clusters_of(const LaunchShape& shape) {
  const auto& size = shape.cluster;
  return std::uint64_t{shape.grid[0]} * shape.grid[1] * shape.grid[2] / (std::uint64_t{size[0]} * size[1] * size[2]);
}

std::size_t storage_bytes(const Block& block) {
  return block.registers.size() + 2 * block.local.size() + 2 * block.shared.size() +
         block.shared_history.size() * sizeof(WordHistory);
}

std::unique_ptr<Cluster> make_cluster(Launch& launch) {
  auto cluster = std::make_unique<Cluster>();
  const auto& size = launch.shape.cluster;
  for (std::uint32_t rank = 0; rank < size[0] * size[1] * size[2]; ++rank) {
    cluster->blocks.push_back(make_block(launch));
    cluster->blocks.back()->cluster = cluster.get();
    cluster->blocks.back()->rank = rank;
    cluster->threads += cluster->blocks.back()->threads;
  }
  return cluster;
}

void start_cluster(Cluster& cluster, std::uint64_t number) {
  const Launch& launch = *cluster.blocks[0]->launch;
  const LaunchShape& shape = launch.shape;
  const std::uint64_t across = shape.grid[0] / shape.cluster[0], down = shape.grid[1] / shape.cluster[1];
  const std::uint64_t at[3] = {number % across, number / across % down, number / across / down};
  cluster.exited = cluster.arrived = 0;
  std::uint64_t state = launch.seed ^ (number + 1) * 0xd1b5'4a32'd192'ed03u;
  cluster.random = splitmix64(state);
  cluster.phase = cluster.phase_fences = 0;
  for (auto& block : cluster.blocks) {
    const std::uint32_t in[3] = {block->rank % shape.cluster[0], block->rank / shape.cluster[0] % shape.cluster[1],
                                 block->rank / shape.cluster[0] / shape.cluster[1]};
    std::array<std::uint32_t, 3> ctaid;
    for (std::size_t k = 0; k < 3; ++k) ctaid[k] = static_cast<std::uint32_t>(at[k] * shape.cluster[k] + in[k]);
    start_block(*block, ctaid);
  }
}

}  // namespace kf::emulator
