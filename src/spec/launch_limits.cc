// SPDX-License-Identifier: Apache-2.0
// What the driver would refuse, and what it would accept and run wrongly, said before anything is launched.
#include <kfactory/plan.h>

#include <array>

#include "entry_facts.h"
#include "resolution.h"

namespace kf {
namespace {

constexpr std::array<char, 3> kAxisNames{'x', 'y', 'z'};

std::string text_of(const Extent3& dims) {
  return "[" + std::to_string(dims[0]) + ", " + std::to_string(dims[1]) + ", " + std::to_string(dims[2]) + "]";
}

Extent3 widened(const std::array<int, 3>& dims) {
  return {dims[0], dims[1], dims[2]};
}

class LimitCheck {
 public:
  LimitCheck(Resolution& to, std::size_t kernel, const LaunchShape& shape, const KernelUse& use)
      : to_(to),
        path_(kernel_path(kernel)),
        kernel_(to.plan.kernels[kernel]),
        shape_(shape),
        use_(use),
        errors_before_(to.errors.size()) {}

  void run() {
    grid();
    block();
    shared();
    cluster();
    declared();
    if (to_.errors.size() == errors_before_) {
      residency();  // would only repeat what was said above
    }
  }

 private:
  void fail(const std::string& key, std::string what, std::string hint = "") {
    to_.fail(path_ + key, std::move(what), std::move(hint));
  }

  void grid() {
    const Extent3 limits{to_.facts.grid_max_x, to_.facts.grid_max_y, to_.facts.grid_max_z};
    for (std::size_t axis = 0; axis < 3; ++axis) {
      const std::string key = ".grid[" + std::to_string(axis) + "]";
      if (shape_.grid[axis] > limits[axis]) {
        fail(key,
             std::string("the grid's ") + kAxisNames[axis] + " is " + std::to_string(shape_.grid[axis]) +
                 ", the device allows " + std::to_string(limits[axis]),
             axis == 0 ? "let each block do more" : "use x, which may be larger");
      }
      if (shape_.grid[axis] == 0) {
        fail(key, "the grid is " + text_of(shape_.grid) + ": nothing would run, but the outputs are not empty",
             "use ceil_div, or \"when\" to leave the kernel out");
      }
    }
  }

  void block() {
    const Extent3 limits{1024, 1024, 64};
    const std::int64_t threads = shape_.threads();
    for (std::size_t axis = 0; axis < 3; ++axis) {
      if (shape_.block[axis] == 0 || shape_.block[axis] > limits[axis]) {
        fail(".block[" + std::to_string(axis) + "]", std::string("the block's ") + kAxisNames[axis] + " is " +
                                                         std::to_string(shape_.block[axis]) + ", allowed: 1 to " +
                                                         std::to_string(limits[axis]));
      }
    }
    if (threads > to_.facts.max_threads_per_block) {
      fail(".block", "a block of " + std::to_string(threads) + " threads, the device allows " +
                         std::to_string(to_.facts.max_threads_per_block));
    } else if (use_.max_threads > 0 && threads > use_.max_threads) {
      fail(".block",
           "a block of " + std::to_string(threads) + " threads, but \"" + kernel_.entry +
               "\" is compiled for at most " + std::to_string(use_.max_threads),
           "raise __launch_bounds__ or use a smaller block");
    } else {
      registers(threads);
    }
  }

  void registers(std::int64_t threads) {
    const std::int64_t warps = (threads + to_.facts.warp_size - 1) / to_.facts.warp_size;
    const std::int64_t warp_registers = (std::int64_t{use_.registers} * to_.facts.warp_size + 255) / 256 * 256;
    if (warps * warp_registers > to_.facts.registers_per_block) {
      fail(".block",
           std::to_string(threads) + " threads with " + std::to_string(use_.registers) + " registers each need " +
               std::to_string(warps * warp_registers) + " registers, a block has " +
               std::to_string(to_.facts.registers_per_block),
           "add __launch_bounds__(" + std::to_string(threads) + ") or use a smaller block");
    }
  }

  void shared() {
    if (shape_.shared < 0 || shape_.shared + use_.static_shared_bytes > to_.facts.shared_per_block) {
      fail(".shared", std::to_string(shape_.shared) + " bytes of dynamic and " +
                          std::to_string(use_.static_shared_bytes) + " of static shared memory, a block may have " +
                          std::to_string(to_.facts.shared_per_block) + " in all");
    }
  }

  void cluster() {
    const std::int64_t size = shape_.cluster_size();
    if (size == 1) {
      return;
    }
    if (size < 1 || size > to_.facts.max_cluster) {
      fail(".cluster", "a cluster of " + std::to_string(size) + " blocks, " + to_.facts.arch + " allows 1 to " +
                           std::to_string(to_.facts.max_cluster));
      return;
    }
    for (std::size_t axis = 0; axis < 3; ++axis) {
      if (shape_.grid[axis] % shape_.cluster[axis] != 0) {
        fail(".grid[" + std::to_string(axis) + "]",
             "the grid " + text_of(shape_.grid) + " is no multiple of the cluster " + text_of(shape_.cluster),
             "use round_up and let the blocks beyond the end do nothing");
      }
    }
  }

  void declared() {
    const std::optional<EntryFacts> facts = entry_facts(to_.build.ptx, kernel_.entry);
    if (!facts) {
      return;
    }
    if (facts->required_block && widened(*facts->required_block) != shape_.block) {
      fail(".block", "the block is " + text_of(shape_.block) + ", but \"" + kernel_.entry +
                         "\" declares that it needs " + text_of(widened(*facts->required_block)));
    }
    if (facts->required_cluster && widened(*facts->required_cluster) != shape_.cluster) {
      fail(".cluster", "the cluster is " + text_of(shape_.cluster) + ", but \"" + kernel_.entry +
                           "\" is compiled for " + text_of(widened(*facts->required_cluster)));
    }
  }

  void residency() {
    const std::int64_t resident = resident_blocks(shape_, use_, to_.facts);
    if (resident == 0) {
      fail("", "not one " + std::string(shape_.cluster_size() > 1 ? "cluster" : "block") + " of \"" + kernel_.entry +
                   "\" fits the device");
    } else if (kernel_.cooperative && shape_.blocks() > resident) {
      fail(".grid",
           "a cooperative launch of " + std::to_string(shape_.blocks()) + " blocks, but only " +
               std::to_string(resident) + " can be on the device at once",
           "use min(..., resident(" + kernel_.id + "))");
    }
  }

  Resolution& to_;
  std::string path_;
  const KernelSpec& kernel_;
  const LaunchShape& shape_;
  const KernelUse& use_;
  std::size_t errors_before_;
};

}  // namespace

bool check_limits(Resolution& to, std::size_t index, const LaunchShape& shape) {
  const KernelSpec& kernel = to.plan.kernels[index];
  const KernelUse* use = find_use(to.build, kernel.entry);
  if (use == nullptr) {
    std::string entries;
    for (const KernelUse& known : to.build.kernels) {
      entries += (entries.empty() ? "" : ", ") + known.entry;
    }
    to.fail(kernel_path(index) + ".name",
            "the build has no entry \"" + kernel.entry + "\"; it has: " + (entries.empty() ? "none" : entries),
            "declare it extern \"C\" __global__");
    return false;
  }
  const std::size_t before = to.errors.size();
  LimitCheck(to, index, shape, *use).run();
  return to.errors.size() == before;
}

}  // namespace kf
