// SPDX-License-Identifier: Apache-2.0
// Blocks of a launch: setting up, dispatch in order, the seeded schedule, deadlock.
#include <algorithm>
#include <cstring>
#include <list>
#include <memory>

#include "executor.h"
#include "lanes.h"

namespace kf::emulator {

std::uint64_t Launch::draw() {  // splitmix64
  std::uint64_t z = random += 0x9e37'79b9'7f4a'7c15u;
  z = (z ^ (z >> 30)) * 0xbf58'476d'1ce4'e5b9u;
  z = (z ^ (z >> 27)) * 0x94d0'49bb'1331'11ebu;
  return z ^ (z >> 31);
}

namespace {

constexpr std::size_t kWindow = 4;          // blocks that share the processor while nobody waits for more
constexpr std::uint64_t kQuantum = 10'000;  // instructions before a warp is made to pause
constexpr std::size_t kResidentBytes = std::size_t{1} << 29;  // storage of blocks that run side by side

std::uint64_t special_value(const Block& block, const Warp& warp, Special what, int lane) {
  const LaunchShape& s = block.launch->shape;
  const std::uint32_t thread = warp.index * kLanes + static_cast<std::uint32_t>(lane);
  const std::uint32_t bx = s.block[0], by = s.block[1];
  auto cluster_count = [&](std::size_t k) { return s.grid[k] / s.cluster[k]; };
  auto in_cluster = [&](std::size_t k) { return block.ctaid[k] % s.cluster[k]; };
  const std::uint64_t shared = block.shared.size();
  switch (what) {
    case Special::kTidX:
      return thread % bx;
    case Special::kTidY:
      return thread / bx % by;
    case Special::kTidZ:
      return thread / bx / by;
    case Special::kNtidX:
      return s.block[0];
    case Special::kNtidY:
      return s.block[1];
    case Special::kNtidZ:
      return s.block[2];
    case Special::kCtaidX:
      return block.ctaid[0];
    case Special::kCtaidY:
      return block.ctaid[1];
    case Special::kCtaidZ:
      return block.ctaid[2];
    case Special::kNctaidX:
      return s.grid[0];
    case Special::kNctaidY:
      return s.grid[1];
    case Special::kNctaidZ:
      return s.grid[2];
    case Special::kLaneid:
      return static_cast<std::uint64_t>(lane);
    case Special::kWarpid:
      return warp.index;
    case Special::kNwarpid:
      return block.warps.size();
    case Special::kSmid:
      return block.linear % static_cast<std::uint64_t>(block.launch->sm_count);
    case Special::kNsmid:
      return static_cast<std::uint64_t>(block.launch->sm_count);
    case Special::kGridid:
      return 1;
    case Special::kLanemaskEq:
      return std::uint32_t{1} << lane;
    case Special::kLanemaskLt:
      return (std::uint32_t{1} << lane) - 1;
    case Special::kLanemaskLe:
      return (std::uint64_t{2} << lane) - 1;
    case Special::kLanemaskGe:
      return ~((std::uint32_t{1} << lane) - 1);
    case Special::kLanemaskGt:
      return static_cast<std::uint32_t>(~((std::uint64_t{2} << lane) - 1));
    case Special::kClusteridX:
      return block.ctaid[0] / s.cluster[0];
    case Special::kClusteridY:
      return block.ctaid[1] / s.cluster[1];
    case Special::kClusteridZ:
      return block.ctaid[2] / s.cluster[2];
    case Special::kNclusteridX:
      return cluster_count(0);
    case Special::kNclusteridY:
      return cluster_count(1);
    case Special::kNclusteridZ:
      return cluster_count(2);
    case Special::kClusterCtaidX:
      return in_cluster(0);
    case Special::kClusterCtaidY:
      return in_cluster(1);
    case Special::kClusterCtaidZ:
      return in_cluster(2);
    case Special::kClusterNctaidX:
      return s.cluster[0];
    case Special::kClusterNctaidY:
      return s.cluster[1];
    case Special::kClusterNctaidZ:
      return s.cluster[2];
    case Special::kClusterCtarank:
      return in_cluster(0) + s.cluster[0] * (in_cluster(1) + s.cluster[1] * in_cluster(2));
    case Special::kClusterNctarank:
      return std::uint64_t{s.cluster[0]} * s.cluster[1] * s.cluster[2];
    case Special::kIsExplicitCluster:
      return s.cluster[0] * s.cluster[1] * s.cluster[2] > 1;
    case Special::kDynamicSmemSize:
      return s.dynamic_shared;
    case Special::kTotalSmemSize:
    case Special::kAggrSmemSize:
      return shared + kSharedBase;
    case Special::kReservedSmemBegin:
      return 0;
    case Special::kReservedSmemEnd:
    case Special::kReservedSmemCap:
      return kSharedBase;
    case Special::kEnvreg1:
      return block.launch->grid_workspace_address >> 32;
    case Special::kEnvreg2:
      return block.launch->grid_workspace_address & 0xffff'ffffu;
  }
  return 0;
}

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

void start_block(Block& block, const std::array<std::uint32_t, 3>& ctaid) {
  Launch& launch = *block.launch;
  const auto& grid = launch.shape.grid;
  block.ctaid = ctaid;
  block.linear = ctaid[0] + std::uint64_t{grid[0]} * (ctaid[1] + std::uint64_t{grid[1]} * ctaid[2]);
  block.mbarriers.clear();
  block.copies.clear();
  block.cluster_clock.clear();
  block.fence_clock.clear();
  block.exited = block.warps_done = 0;
  block.dependency_met = false;
  block.barriers = {};
  std::ranges::fill(block.shared_written, std::uint8_t{0});
  std::ranges::fill(block.shared_history, WordHistory{});
  std::ranges::fill(block.local_written, std::uint8_t{0});
  for (std::byte& b : block.shared) b = static_cast<std::byte>(launch.seed * 131 + 0x5a);
  for (Warp& warp : block.warps) {
    const std::uint32_t first = warp.index * kLanes;
    const std::uint32_t live = std::min<std::uint32_t>(block.threads - first, kLanes);
    warp.exited = live == kLanes ? 0 : ~((Mask{1} << live) - 1);
    warp.waiting = warp.carry = 0;
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
    for (auto& stack : warp.calls) stack.clear();
    warp.preds[kTruePredicate] = kAllLanes;
    for (const SpecialUse& use : launch.program->specials)
      for (int l = 0; l < kLanes; ++l)
        write_slot(warp, use.slot, use.bytes, l, special_value(block, warp, use.what, l));
  }
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
  const LaunchShape& shape = cluster.blocks[0]->launch->shape;
  const std::uint64_t across = shape.grid[0] / shape.cluster[0], down = shape.grid[1] / shape.cluster[1];
  const std::uint64_t at[3] = {number % across, number / across % down, number / across / down};
  cluster.exited = cluster.arrived = 0;
  cluster.phase = 0;
  for (auto& block : cluster.blocks) {
    const std::uint32_t in[3] = {block->rank % shape.cluster[0], block->rank / shape.cluster[0] % shape.cluster[1],
                                 block->rank / shape.cluster[0] / shape.cluster[1]};
    std::array<std::uint32_t, 3> ctaid;
    for (std::size_t k = 0; k < 3; ++k) ctaid[k] = static_cast<std::uint32_t>(at[k] * shape.cluster[k] + in[k]);
    start_block(*block, ctaid);
  }
}

void check_budget(Launch& launch, Warp& warp) {
  if (launch.counters.lane_instructions < launch.step_budget) return;
  const Mask live = ~warp.exited;
  const int lane = live != 0 ? std::countr_zero(live) : 0;
  report(warp, launch.program->code[live != 0 ? warp.pc[static_cast<std::size_t>(lane)] : warp.now], lane,
         "the launch has used its budget of " + std::to_string(launch.step_budget) +
             " steps: it loops without end, or waits for a block that cannot run",
         DeviceFault::Kind::kTimeout);
}

// One turn for each warp, in a random order. True when anything ran.
bool run_block(Block& block) {
  Launch& launch = *block.launch;
  std::vector<std::uint32_t> order(block.warps.size());
  for (std::size_t n = 0; n < order.size(); ++n) {
    const auto at = static_cast<std::size_t>(launch.draw() % (n + 1));
    order[n] = order[at];
    order[at] = static_cast<std::uint32_t>(n);
  }
  std::uint64_t ran = 0;
  for (const std::uint32_t n : order) {
    if (block.warps[n].exited == kAllLanes) continue;
    ran += run_warp(block.warps[n], kQuantum);
    check_budget(launch, block.warps[n]);
  }
  return ran != 0;
}

[[noreturn]] void deadlock(const Block& block) {
  std::string text;
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
      text += (text.empty() ? "" : "; ") + describe_thread(warp, l) + " waits at " + here;
    }
  const Inst& inst = block.launch->program->code[first->pc[static_cast<std::size_t>(first_lane)]];
  report(*first, inst, first_lane, "deadlock: no thread of the block can go on: " + text);
}

// One turn of a random block of the cluster that has not ended. When it cannot go on, every block gets a turn, then
// an asynchronous copy may arrive; when that does not help either, it is a deadlock.
void turn(Launch& launch, Cluster& cluster) {
  std::vector<Block*> open;
  for (auto& block : cluster.blocks)
    if (!block->done()) open.push_back(block.get());
  Block& block = *open[static_cast<std::size_t>(launch.draw() % open.size())];
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

}  // namespace

void run_grid(Launch& launch) {
  const auto& grid = launch.shape.grid;
  const auto& size = launch.shape.cluster;
  const std::uint64_t blocks_each = std::uint64_t{size[0]} * size[1] * size[2];
  const std::uint64_t total = std::uint64_t{grid[0]} * grid[1] * grid[2] / blocks_each;
  std::uint64_t next = 0;
  std::vector<std::unique_ptr<Cluster>> resident, idle;
  std::size_t window = launch.shape.cooperative ? static_cast<std::size_t>(total) : kWindow;
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
    turn(launch, cluster);
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
