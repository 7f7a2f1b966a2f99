// SPDX-License-Identifier: Apache-2.0
#include "specials.h"

#include "block.h"

namespace kf::emulator {
namespace {

constexpr unsigned number(Special what) {
  return static_cast<unsigned>(what);
}
// Registers with three parts follow each other: x, y, z.
static_assert(number(Special::kNctaidZ) == number(Special::kTidX) + 11);
static_assert(number(Special::kClusterNctaidZ) == number(Special::kClusteridX) + 11);

std::uint64_t part(const Warp& warp, unsigned which, std::size_t k, int lane) {
  const LaunchShape& s = warp.launch->shape;
  const std::uint32_t thread = warp.index * kLanes + static_cast<std::uint32_t>(lane);
  switch (which) {
    case 0:  // %tid
      return k == 0   ? thread % s.block[0]
             : k == 1 ? thread / s.block[0] % s.block[1]
                      : thread / s.block[0] / s.block[1];
    case 1:  // %ntid
      return s.block[k];
    case 2:  // %ctaid
      return warp.block->ctaid[k];
    default:  // %nctaid
      return s.grid[k];
  }
}

std::uint64_t cluster_part(const Warp& warp, unsigned which, std::size_t k) {
  const LaunchShape& s = warp.launch->shape;
  switch (which) {
    case 0:  // %clusterid
      return warp.block->ctaid[k] / s.cluster[k];
    case 1:  // %nclusterid
      return s.grid[k] / s.cluster[k];
    case 2:  // %cluster_ctaid
      return warp.block->ctaid[k] % s.cluster[k];
    default:  // %cluster_nctaid
      return s.cluster[k];
  }
}

std::uint64_t of_lane(Special what, int lane) {
  switch (what) {
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
    default:  // %laneid
      return static_cast<std::uint64_t>(lane);
  }
}

std::uint64_t of_memory(const Block& block, Special what) {
  switch (what) {
    case Special::kDynamicSmemSize:
      return block.launch->shape.dynamic_shared;
    case Special::kTotalSmemSize:
    case Special::kAggrSmemSize:
      return block.shared.size() + kSharedBase;
    case Special::kReservedSmemEnd:
    case Special::kReservedSmemCap:
      return kSharedBase;
    case Special::kEnvreg1:  // of cooperative groups: where the grid's barrier is
      return block.launch->grid_workspace_address >> 32;
    case Special::kEnvreg2:
      return block.launch->grid_workspace_address & 0xffff'ffffu;
    default:  // %reserved_smem_offset_begin
      return 0;
  }
}

}  // namespace

std::uint64_t special_value(const Warp& warp, Special what, int lane) {
  const Block& block = *warp.block;
  const Launch& launch = *block.launch;
  if (what <= Special::kNctaidZ) return part(warp, number(what) / 3, number(what) % 3, lane);
  if (what >= Special::kClusteridX && what <= Special::kClusterNctaidZ) {
    const unsigned at = number(what) - number(Special::kClusteridX);
    return cluster_part(warp, at / 3, at % 3);
  }
  const auto& cluster = launch.shape.cluster;
  const auto sms = static_cast<std::uint64_t>(launch.sm_count);
  switch (what) {
    case Special::kWarpid:
      return warp.index;
    case Special::kNwarpid:
      return block.warps.size();
    case Special::kSmid:
      return block.linear % sms;
    case Special::kNsmid:
      return sms;
    case Special::kGridid:
      return 1;
    case Special::kClusterCtarank:
      return cluster_part(warp, 2, 0) + cluster[0] * (cluster_part(warp, 2, 1) + cluster[1] * cluster_part(warp, 2, 2));
    case Special::kClusterNctarank:
      return std::uint64_t{cluster[0]} * cluster[1] * cluster[2];
    case Special::kIsExplicitCluster:
      return cluster[0] * cluster[1] * cluster[2] > 1;
    default:
      return what < Special::kClusteridX ? of_lane(what, lane) : of_memory(block, what);
  }
}

}  // namespace kf::emulator
