// SPDX-License-Identifier: Apache-2.0
#include "launcher.h"

#include <algorithm>
#include <cstring>

#include "executor.h"
#include "plan_touches.h"
#include "side_by_side.h"
#include "traffic.h"

namespace kf::emulator {
namespace {

std::unexpected<DeviceFault> refused(const kf::Launch& launch, const std::string& what) {
  return std::unexpected(
      DeviceFault{DeviceFault::Kind::kLaunchRefused, "launch " + launch.id + " of " + launch.entry + ": " + what});
}
std::unexpected<DeviceFault> unsupported(const kf::Launch& launch, const std::string& what) {
  return std::unexpected(DeviceFault{DeviceFault::Kind::kUnsupported, "launch " + launch.id + " of " + launch.entry +
                                                                          ": the emulator does not support " + what});
}

std::uint64_t product(const auto& of) {
  return std::uint64_t{of[0]} * of[1] * of[2];
}

OrFault<void> check_order(const ResolvedPlan& plan) {
  for (std::size_t n = 0; n < plan.launches.size(); ++n)
    for (const int before : plan.launches[n].after)
      if (before < 0 || static_cast<std::size_t>(before) >= n)
        return refused(plan.launches[n],
                       "waits for launch " + std::to_string(before) + ", which is not an earlier one");
  return {};
}

OrFault<void> check_limits(const kf::Launch& launch, const Kernel& kernel, const DeviceFacts& target) {
  const std::uint64_t threads = product(launch.block);
  if (product(launch.grid) == 0) return refused(launch, "the grid has no blocks");
  if (threads == 0) return refused(launch, "the block has no threads");
  const auto most = static_cast<std::uint64_t>(target.max_threads_per_block);
  if (threads > most || launch.block[2] > 64)
    return refused(launch,
                   std::to_string(threads) + " threads a block, at most " + std::to_string(most) + " (64 in z)");
  if (kernel.max_threads != 0 && threads > kernel.max_threads)
    return refused(launch, std::to_string(threads) + " threads a block, but its launch bounds say at most " +
                               std::to_string(kernel.max_threads));
  if (kernel.required_threads[0] != 0 && !std::equal(launch.block.begin(), launch.block.end(), kernel.required_threads))
    return refused(launch, "its .reqntid asks for another block");
  if (launch.grid[0] > target.grid_max_x || launch.grid[1] > target.grid_max_y || launch.grid[2] > target.grid_max_z)
    return refused(launch, "the grid is larger than the device allows");
  const std::int64_t shared = launch.shared_bytes != 0
                                  ? std::int64_t{kernel.dynamic_shared_offset} + launch.shared_bytes
                                  : kernel.static_shared_bytes;
  if (target.shared_per_block > 0 && shared > target.shared_per_block)
    return refused(
        launch, std::to_string(shared) + " bytes of shared memory, at most " + std::to_string(target.shared_per_block));
  const std::uint64_t cluster = product(launch.cluster);
  if (cluster == 0 || cluster > static_cast<std::uint64_t>(std::max(target.max_cluster, 1)))
    return refused(launch,
                   "clusters of " + std::to_string(cluster) + " blocks, at most " + std::to_string(target.max_cluster));
  for (std::size_t k = 0; k < 3; ++k)
    if (launch.grid[k] % launch.cluster[k] != 0) return refused(launch, "the grid is no multiple of its cluster");
  if (kernel.required_cluster[0] != 0 &&
      !std::equal(launch.cluster.begin(), launch.cluster.end(), kernel.required_cluster))
    return refused(launch, "its .reqnctapercluster asks for another cluster");
  return {};
}

OrFault<std::vector<std::byte>> parameters(const kf::Launch& launch, const Kernel& kernel, const PlanRun& run,
                                           Buffers& buffers) {
  if (launch.args.size() != kernel.params.size())
    return refused(launch, std::to_string(launch.args.size()) + " arguments for " +
                               std::to_string(kernel.params.size()) + " parameters");
  std::vector<std::byte> bytes(kernel.param_bytes);
  for (std::size_t n = 0; n < launch.args.size(); ++n) {
    const Arg& arg = launch.args[n];
    const auto index = static_cast<std::size_t>(arg.index);
    std::uint64_t value = 0;
    std::uint32_t width = 8;
    switch (arg.kind) {
      case Arg::Kind::kTensor: {
        Buffer& buffer = buffers.at(run.tensors[index]);
        buffers.name(buffer, "tensor " + std::to_string(index));
        value = buffer.address + static_cast<std::uint64_t>(run.slice_offsets.empty() ? 0 : run.slice_offsets[index]);
        break;
      }
      case Arg::Kind::kWorkspace: {
        Buffer& buffer = buffers.at(run.workspaces[index]);
        buffers.name(buffer, "workspace " + run.plan->workspaces[index].name);
        value = buffer.address;
        break;
      }
      case Arg::Kind::kScalar:
        value = arg.bits;
        width = static_cast<std::uint32_t>(arg.width);
        break;
      case Arg::Kind::kNull:
        break;
      case Arg::Kind::kTensorMap:
        return unsupported(launch, "tensor maps");
    }
    if (width != kernel.params[n].second)
      return refused(launch, "argument " + std::to_string(n + 1) + " has " + std::to_string(width) +
                                 " bytes, the parameter " + std::to_string(kernel.params[n].second));
    std::memcpy(bytes.data() + kernel.params[n].first, &value, width);
  }
  return bytes;
}

OrFault<LaunchCounts> copy_bytes(const kf::Launch& launch, const PlanRun& run, Buffers& buffers,
                                 const DeviceFacts& target) {
  if (launch.args.size() != 3 || launch.args[0].kind != Arg::Kind::kTensor || launch.args[1].kind != Arg::Kind::kTensor)
    return refused(launch, "a copy needs two tensors and a size");
  Buffer& to = buffers.at(run.tensors[static_cast<std::size_t>(launch.args[0].index)]);
  Buffer& from = buffers.at(run.tensors[static_cast<std::size_t>(launch.args[1].index)]);
  const std::uint64_t bytes = launch.args[2].bits;
  if (bytes > to.usable().size() || bytes > from.usable().size())
    return refused(launch, "a copy larger than its buffers");
  std::memcpy(to.usable().data(), from.usable().data(), bytes);
  buffers.all_have_values(to);
  return bytes_moved(launch.id, static_cast<std::int64_t>(2 * bytes), target);
}

// Fewer blocks side by side (of a cooperative launch never fewer than its grid), and turns of another length.
void disturb(Launch& launch, const Disturbance& disturbance) {
  constexpr std::uint64_t kTurns[] = {16, 200, 10'000};
  launch.quantum = kTurns[launch.draw() % 3];
  launch.first_window = 1 + static_cast<std::size_t>(launch.draw() % 6);
  if (!launch.shape.cooperative) {
    // Nothing promises that two blocks (clusters) are ever there at once: where nearly all is held, none are.
    const double free = disturbance.held_share >= 0.9 ? 0.0 : 1.0 - std::max(disturbance.held_share, 0.0);
    const auto most = static_cast<std::uint64_t>(free * static_cast<double>(launch.resident_limit));
    launch.resident_limit = std::max(most, product(launch.shape.cluster));
    launch.first_window =
        std::min(launch.first_window, static_cast<std::size_t>(launch.resident_limit / product(launch.shape.cluster)));
  }
}

}  // namespace

LaunchCounts bytes_moved(std::string id, std::int64_t bytes, const DeviceFacts& target) {
  LaunchCounts made;
  made.id = std::move(id);
  made.blocks = std::max(1, target.sm_count);
  made.dram_bytes = bytes;
  return made;
}

OrFault<std::vector<LaunchCounts>> run_plan(const PlanRun& run, Buffers& buffers, GlobalMemory& memory,
                                            const DeviceFacts& target) {
  if (auto fine = check_order(*run.plan); !fine) return std::unexpected(fine.error());
  std::vector<LaunchCounts> counts;
  std::uint64_t number = 0;
  PlanTouches touches(run.plan->launches);
  const bool overlapping = PlanOrder::overlaps(run.plan->launches);
  for (const kf::Launch& one : run.plan->launches) {
    touches.start(static_cast<std::size_t>(&one - run.plan->launches.data()));
    if (one.kind == kf::Launch::Kind::kMemcpy) {
      auto copied = copy_bytes(one, run, buffers, target);
      if (!copied) return std::unexpected(copied.error());
      if (run.profile) counts.push_back(*std::move(copied));
      continue;
    }
    const Kernel* kernel = run.program->find(one.entry);
    if (kernel == nullptr) return refused(one, "the module has no such entry");
    if (auto fine = check_limits(one, *kernel, target); !fine) return std::unexpected(fine.error());
    auto params = parameters(one, *kernel, run, buffers);
    if (!params) return std::unexpected(params.error());
    Launch launch;
    launch.program = run.program;
    launch.kernel = kernel;
    launch.memory = &memory;
    launch.shape = {one.grid, one.block, one.cluster, one.shared_bytes, one.flags.cooperative};
    launch.params = *std::move(params);
    launch.seed = launch.random = run.seed * 0x9e37'79b9'7f4a'7c15u + number++;
    launch.step_budget = run.step_budget;
    launch.sm_count = std::max(1, target.sm_count);
    const std::uint64_t threads = product(one.block);
    launch.resident_limit = static_cast<std::uint64_t>(launch.sm_count) *
                            std::max<std::uint64_t>(1, static_cast<std::uint64_t>(target.max_threads_per_sm) / threads);
    launch.profile = run.profile;
    if (run.disturbance != nullptr) disturb(launch, *run.disturbance);
    launch.check_races = !run.profile;
    if (overlapping && launch.check_races) launch.touches = &touches;
    if (one.flags.cooperative && product(one.grid) > launch.resident_limit)
      return refused(one, "a cooperative grid of " + std::to_string(product(one.grid)) + " blocks, " +
                              std::to_string(launch.resident_limit) + " can be resident");
    if (one.flags.cooperative) {
      launch.grid_workspace.resize(4096);
      launch.grid_workspace_address = memory.reserve(launch.grid_workspace.size(), 0);
      memory.add({launch.grid_workspace_address, launch.grid_workspace.size(), launch.grid_workspace.data(), nullptr,
                  false, "the grid's barrier"});
    }
    std::optional<DeviceFault> fault;
    try {
      if (run.crew == nullptr || !run_side_by_side(launch, *run.crew)) run_grid(launch);
    } catch (const Stop& stop) {
      fault = stop.fault;
    }
    if (launch.grid_workspace_address != 0) memory.remove(launch.grid_workspace_address);
    if (fault) return std::unexpected(*std::move(fault));
    touches.end(launch.waited, launch.waited_before_trigger, std::move(launch.old_values));
    if (run.profile) {
      counts.push_back(counts_of(launch, static_cast<std::int64_t>(product(one.grid))));
      counts.back().id = one.id;
    }
  }
  return counts;
}

}  // namespace kf::emulator
