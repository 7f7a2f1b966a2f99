// SPDX-License-Identifier: Apache-2.0
#include <kfactory/plan.h>

#include <algorithm>

namespace kf {
namespace {

// Allocation units of compute capability 8.0 to 12.x (CUDA Programming Guide, "Compute Capabilities"; the same
// numbers are in the toolkit's cuda_occupancy.h, which a test compares with).
constexpr int kRegisterUnit = 256;   // registers are given to whole warps in steps of this
constexpr int kSharedUnit = 128;     // bytes
constexpr int kPartitions = 4;       // of an SM: a warp lives in one, with a quarter of the registers
constexpr int kBigSmThreads = 2048;  // data-center SMs, which also have two named barriers for each block slot

std::int64_t round_up(std::int64_t value, std::int64_t unit) {
  return (value + unit - 1) / unit * unit;
}

}  // namespace

int resident_blocks_per_sm(const KernelUse& use, int threads, std::int64_t dynamic_shared_bytes,
                           const DeviceFacts& facts) {
  if (threads < 1 || threads > facts.max_threads_per_block || facts.warp_size < 1 || dynamic_shared_bytes < 0) {
    return 0;
  }
  const std::int64_t warps = round_up(threads, facts.warp_size) / facts.warp_size;
  std::int64_t blocks = facts.max_blocks_per_sm;
  blocks = std::min(blocks, facts.max_threads_per_sm / facts.warp_size / warps);

  const std::int64_t warp_registers = round_up(std::int64_t{use.registers} * facts.warp_size, kRegisterUnit);
  if (warp_registers > 0) {
    if (warp_registers * round_up(warps, kPartitions) > facts.registers_per_block) {
      return 0;
    }
    const std::int64_t warps_that_fit = facts.registers_per_sm / kPartitions / warp_registers * kPartitions;
    blocks = std::min(blocks, warps_that_fit / warps);
  }

  const bool counts_barriers = facts.max_cluster > 1;  // Hopper and newer, which brought clusters too
  if (use.barriers > 0 && counts_barriers) {
    const std::int64_t barriers = facts.max_blocks_per_sm * (facts.max_threads_per_sm >= kBigSmThreads ? 2 : 1);
    blocks = std::min(blocks, barriers / use.barriers);
  }

  const std::int64_t requested = use.static_shared_bytes + dynamic_shared_bytes;
  if (requested > facts.shared_per_block) {
    return 0;
  }
  const std::int64_t shared = round_up(requested + facts.shared_reserved_per_block, kSharedUnit);
  if (shared > 0) {
    blocks = std::min(blocks, facts.shared_per_sm / shared);
  }
  return static_cast<int>(blocks);
}

}  // namespace kf
