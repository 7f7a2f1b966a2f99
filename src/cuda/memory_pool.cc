// SPDX-License-Identifier: Apache-2.0
#include "cuda/memory_pool.h"

#include <algorithm>
#include <bit>

namespace kf::cuda {

std::int64_t MemoryPool::size_class(std::int64_t bytes) {
  if (bytes > kLargest) {
    return bytes;
  }
  const auto wanted = static_cast<std::uint64_t>(std::max<std::int64_t>(bytes, 1));
  const std::uint64_t step = std::max<std::uint64_t>(256, std::bit_floor(wanted) / 8);
  return static_cast<std::int64_t>((wanted + step - 1) / step * step);
}

Memory MemoryPool::take(std::int64_t bytes) {
  const std::int64_t size = size_class(bytes);
  if (const auto found = idle_.find(size); found != idle_.end()) {
    Memory memory = std::move(found->second);
    idle_.erase(found);
    idle_bytes_ -= size;
    return memory;
  }
  try {
    return make_memory(gpu_, size);
  } catch (const Faulted& faulted) {
    if (faulted.fault.kind != DeviceFault::Kind::kOutOfMemory || idle_.empty()) {
      throw;
    }
  }
  idle_.clear();
  idle_bytes_ = 0;
  return make_memory(gpu_, size);
}

void MemoryPool::give(Memory memory, std::int64_t bytes) {
  const std::int64_t size = size_class(bytes);
  if (!memory || size > kLargest || idle_bytes_ + size > kMost) {
    return;  // freed here
  }
  idle_.emplace(size, std::move(memory));
  idle_bytes_ += size;
}

}  // namespace kf::cuda
