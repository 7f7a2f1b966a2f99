// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <map>

#include "cuda/gpu.h"

namespace kf::cuda {

// Device memory that is kept when it is given back: cuMemAlloc and cuMemFree wait for the device and cost more than a
// small check itself. All work of a device goes through one stream, so a block may be taken again at once; whoever
// takes one poisons it before a candidate can see it, and gates scrub what could hold an answer before they give it
// back.
class MemoryPool {
 public:
  explicit MemoryPool(const Gpu& gpu) : gpu_(gpu) {}

  // At least `bytes`. Throws Faulted when there is no memory, after everything idle was freed.
  Memory take(std::int64_t bytes);
  // `bytes`: as it was taken. Blocks above kLargest, and what would make more than kMost idle, are freed.
  void give(Memory memory, std::int64_t bytes);
  std::int64_t idle_bytes() const { return idle_bytes_; }

  static constexpr std::int64_t kLargest = 1LL << 30, kMost = 4LL << 30;
  // What is allocated for `bytes`: eight sizes an octave, so that a case finds the blocks of another one. Whoever takes
  // a block makes the rest of it part of its red zone: no byte of it may change unseen.
  static std::int64_t size_class(std::int64_t bytes);

 private:
  const Gpu& gpu_;
  std::multimap<std::int64_t, Memory> idle_;  // by size class
  std::int64_t idle_bytes_ = 0;
};

}  // namespace kf::cuda
