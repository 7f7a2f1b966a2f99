// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <map>
#include <string>
#include <vector>

#include "cuda/gpu.h"
#include "kernels/harness/host.h"

namespace kf::cuda {

// An allocation of the device.
struct Buffer {
  Memory memory;
  harness::Placement at;
  CUdeviceptr usable() const { return memory.get() + static_cast<CUdeviceptr>(at.front); }
};

// The kernels of kernels/harness/harness.cu as calls. Those that answer wait for their answer; the others are queued on
// the device's stream.
class HarnessKernels {
 public:
  HarnessKernels(Gpu& gpu, const Build& build, int sm_count, std::int64_t shared_per_block);

  void poison(const Buffer& buffer, std::uint64_t seed);
  // The red zones and at most the usable bytes that share a pair of words with them.
  void poison_red_zones(const Buffer& buffer, std::uint64_t seed);
  void fill(const Buffer& buffer, const harness::Layout& layout, int family, std::uint64_t seed);
  void scatter(const Buffer& buffer, const harness::Layout& layout, const Bytes& dense);
  ContentDigest digest(const Buffer& buffer);
  std::int64_t red_zone_damage(const Buffer& buffer, std::uint64_t seed);
  std::int64_t padding_damage(const Buffer& buffer, const harness::Layout& layout, std::uint64_t seed);
  std::int64_t nonzero_bytes(const Buffer& buffer);
  std::int64_t differing_elements(const Buffer& a, const Buffer& b, const harness::Layout& layout);
  // `condition` is 0 without one.
  Mismatch compare(const harness::ComparePlan& plan, const Buffer& out, CUdeviceptr reference, CUdeviceptr condition);
  void scrub_shared(std::uint64_t seed);

  // Around timed work; all queued on `stream`.
  void gate(CUstream stream, CUdeviceptr open, CUdeviceptr timed_out, std::uint64_t timeout_nanoseconds);
  // `states`: one word for each of clock_blocks() blocks. See kf_disturb.
  struct DisturbArgs {
    CUdeviceptr release = 0, states = 0;
    std::uint64_t seed = 0;
    double held_share = 0;
    std::uint64_t longest_nanoseconds = 0;
    bool staggered = false;
    CUdeviceptr scratch = 0;
    std::int64_t scratch_bytes = 0;
  };
  void disturb(CUstream stream, const DisturbArgs& with);
  void read_clock(CUstream stream, CUdeviceptr pair);
  void read_sweep(CUstream stream, CUdeviceptr data, std::int64_t bytes);
  unsigned clock_blocks() const { return static_cast<unsigned>(sm_count_); }
  unsigned sweep_blocks() const { return static_cast<unsigned>(4 * sm_count_); }
  CUfunction find(const char* name) const;

 private:
  template <class... Args>
  void launch_grid(const char* name, unsigned blocks, unsigned threads, unsigned shared, CUstream stream,
                   Args... args) const;
  template <class... Args>
  void launch(const char* name, std::int64_t work, Args... args) const;
  // Runs a kernel that writes one T a block behind its other arguments, and merges them.
  template <class T, class... Args>
  T reduce(const char* name, std::int64_t work, T start, Args... args);
  unsigned blocks_for(std::int64_t work) const;
  CUdeviceptr scratch(std::int64_t bytes);
  void download(void* to, CUdeviceptr from, std::size_t bytes);
  std::int64_t count_bits(CUdeviceptr bitmap, std::int64_t words);
  void judge_regions(const harness::ComparePlan& plan, const Buffer& out, CUdeviceptr reference, Mismatch& mismatch);

  Gpu& gpu_;
  Module module_;
  mutable std::map<std::string, CUfunction, std::less<>> functions_;
  int sm_count_;
  std::int64_t shared_per_block_;
  Memory partials_;  // one of the largest partial result for each block
  std::size_t partials_bytes_ = 0;
  Pinned staged_;  // as large, on the host
  Memory sink_;
  Memory scratch_;
  std::int64_t scratch_bytes_ = 0;
};

}  // namespace kf::cuda
